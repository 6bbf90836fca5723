// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Cell is a text and how it is painted; nil leaves it as it is.
type Cell struct {
	Text  string
	Paint func(string) string
}

// Table is rows below a heading. Columns are as wide as their widest cell; nothing is cut.
type Table struct {
	// Heading is left out where it is empty.
	Heading []string
	rows    [][]Cell
	// widths are those of what was written so far: what follows is at least as wide.
	widths []int
}

// Row adds a row of texts and Cells; anything else is printed as fmt does.
func (t *Table) Row(cells ...any) {
	row := make([]Cell, 0, len(cells))
	for _, cell := range cells {
		switch c := cell.(type) {
		case Cell:
			row = append(row, c)
		case string:
			row = append(row, Cell{Text: c})
		default:
			row = append(row, Cell{Text: fmt.Sprint(c)})
		}
	}
	t.rows = append(t.rows, row)
}

// Write prints it, each line behind indent.
func (t *Table) Write(w io.Writer, indent string) {
	rows := t.rows
	if len(t.Heading) > 0 {
		heading := make([]Cell, 0, len(t.Heading))
		for _, text := range t.Heading {
			heading = append(heading, Cell{Text: text})
		}
		rows = append([][]Cell{heading}, rows...)
	}
	widths := t.widths
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	t.widths = widths
	for _, row := range rows {
		var line, gap strings.Builder
		for i, cell := range row {
			text := cell.Text
			if cell.Paint != nil {
				text = cell.Paint(text)
			}
			if cell.Text != "" { // blanks only between what can be seen
				line.WriteString(gap.String())
				line.WriteString(text)
				gap.Reset()
			}
			gap.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)+3))
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(indent+line.String(), " "))
	}
}

// Next empties it, heading and all; what is added then stands below what was written before.
func (t *Table) Next() { t.Heading, t.rows = nil, nil }

// Lead puts texts in front of every row.
func (t *Table) Lead(texts ...string) {
	for i, row := range t.rows {
		led := make([]Cell, 0, len(texts)+len(row))
		for _, text := range texts {
			led = append(led, Cell{Text: text})
		}
		t.rows[i] = append(led, row...)
	}
}
