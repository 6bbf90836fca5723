// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// tick is how often a running step says that it is still running.
const tick = 15 * time.Second

// Progress prints numbered steps, what each waits for and for how long.
type Progress struct {
	out   io.Writer
	mu    sync.Mutex
	total int
	done  int
}

// NewProgress returns a Progress for total steps that prints to out.
func NewProgress(out io.Writer, total int) *Progress {
	return &Progress{out: out, total: total}
}

// Step runs do as the next step: its name is printed at once, then every 15 s with the time it has taken, and at its end.
func (p *Progress) Step(name string, do func() error) error {
	p.mu.Lock()
	p.done++
	label := fmt.Sprintf("[%d/%d] %s", p.done, p.total, name)
	p.mu.Unlock()

	start := time.Now()
	p.printf("%s ...\n", label)
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() { p.keepSaying(label, start, stop) })
	err := do()
	close(stop)
	ticking.Wait()
	if err != nil {
		p.printf("%s: failed after %s\n", label, rounded(time.Since(start)))
		return fmt.Errorf("%s: %w", name, err)
	}
	p.printf("%s: done in %s\n", label, rounded(time.Since(start)))
	return nil
}

// Skip counts a step that has nothing to do.
func (p *Progress) Skip(name, why string) {
	p.mu.Lock()
	p.done++
	p.mu.Unlock()
	p.printf("[%d/%d] %s: %s\n", p.done, p.total, name, why)
}

func (p *Progress) keepSaying(label string, start time.Time, stop <-chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			p.printf("%s ... %s\n", label, rounded(time.Since(start)))
		}
	}
}

func (p *Progress) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, args...)
}

func rounded(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
