package observe

import (
	"bytes"
	"fmt"
	"strings"
)

// dot writes the wait-for graph in the language of Graphviz.
func (v *view) dot() string {
	g := v.newWaitGraph(maxNodes)
	var b bytes.Buffer
	b.WriteString("digraph \"farad\" {\n\trankdir=LR\n")
	b.WriteString("\tnode [fontname=\"sans-serif\" fontsize=11]\n\tedge [fontname=\"sans-serif\" fontsize=9]\n")
	if note := g.note(); note != "" {
		fmt.Fprintf(&b, "\tlabel=%s\n", dotQuote(note))
	}
	red := func(deadlock bool) string {
		if deadlock {
			return " color=\"#b3261e\" penwidth=2"
		}
		return ""
	}
	for i, n := range g.vertices {
		shape := "box"
		if n.Lock == nil {
			shape = "ellipse"
		}
		label := n.Title
		if n.Sub != "" {
			label += "\n" + n.Sub
		}
		fmt.Fprintf(&b, "\tn%d [shape=%s label=%s%s]\n", i, shape, dotQuote(label), red(n.Deadlock))
	}
	for _, e := range g.edges {
		more := red(e.Deadlock)
		if e.Waits && e.CanEnd {
			more += " style=dashed"
		}
		label := "held by"
		if e.Waits {
			label = "waits for"
		}
		fmt.Fprintf(&b, "\tn%d -> n%d [label=\"%s\"%s]\n", e.From, e.To, label, more)
	}
	b.WriteString("}\n")
	return b.String()
}

// dotQuote writes a text so that Graphviz shows just that: it reads escapes and entities in labels.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "\n", `\n`).Replace(s) + `"`
}
