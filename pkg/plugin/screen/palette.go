// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

// Palette colours words, or leaves them as they are: the zero value knows no colours.
type Palette struct{ on bool }

// NewPalette is one with colours, if on.
func NewPalette(on bool) Palette { return Palette{on: on} }

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	faint  = "2"
	bold   = "1"
)

func (p Palette) paint(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Good is for what is as it should be.
func (p Palette) Good(text string) string { return p.paint(green, text) }

// Bad is for what is not.
func (p Palette) Bad(text string) string { return p.paint(red, text) }

// Doubtful is for what may become either.
func (p Palette) Doubtful(text string) string { return p.paint(yellow, text) }

// Bold is for headings and what matters.
func (p Palette) Bold(text string) string { return p.paint(bold, text) }

// Faint is for what matters little.
func (p Palette) Faint(text string) string { return p.paint(faint, text) }
