// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress shows how far something is: on a terminal in one line that changes, elsewhere only what is Noted, a line each.
type Progress struct {
	w    io.Writer
	live bool

	mu    sync.Mutex
	shown bool
	noted string
}

// NewProgress writes to w, which is a terminal if live.
func NewProgress(w io.Writer, live bool) *Progress { return &Progress{w: w, live: live} }

const clearLine = "\r\x1b[K"

// Show replaces the line, on a terminal.
func (p *Progress) Show(text string) {
	if !p.live {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	_, _ = fmt.Fprint(p.w, clearLine+text)
}

// Note prints a line that stays, once where it is the same as the last.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == p.noted {
		return
	}
	p.noted = text
	p.clear()
	_, _ = fmt.Fprintln(p.w, text)
}

// Clear takes the changing line away.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Progress) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.w, clearLine)
		p.shown = false
	}
}

const barWidth = 24

// Bar is one of known length: done of total.
func Bar(done, total time.Duration) string {
	filled := barWidth
	if total > 0 && done < total {
		filled = int(int64(barWidth) * int64(done) / int64(total))
	}
	return "[" + strings.Repeat("=", filled) + strings.Repeat(" ", barWidth-filled) + "]"
}

// MovingBar is one of unknown length: it moves with each step.
func MovingBar(step int) string {
	const mark = 5
	way := barWidth - mark
	at := step % (2 * way)
	if at > way {
		at = 2*way - at
	}
	return "[" + strings.Repeat(" ", at) + strings.Repeat("=", mark) + strings.Repeat(" ", way-at) + "]"
}

// Bytes is a number of bytes for people.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, names := float64(n)/unit, []string{"KiB", "MiB", "GiB", "TiB"}
	for value >= unit && len(names) > 1 {
		value, names = value/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %s", value, names[0])
}
