//go:build services

package bench

import (
	"fmt"
	"math"
	"strings"
)

// plot is a picture of curves over one axis.
type plot struct {
	title, x, y string
	// log makes the axis below logarithmic.
	log    bool
	curves []curve
}

type curve struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

func (c *curve) add(x, y float64) { c.points = append(c.points, point{x, y}) }

// The size of a picture and its margins.
const (
	width, height             = 640, 360
	left, right, above, below = 60, 20, 50, 50
)

var colours = []string{"#2563eb", "#d97706", "#059669", "#db2777"}

// round makes a step of an axis one that people count in.
func round(step float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(step)))
	for _, n := range []float64{1, 2, 2.5, 5} {
		if step <= n*unit { // not a bound: it is the step of an axis
			return n * unit
		}
	}
	return 10 * unit
}

// svg draws the plot.
func (p plot) svg() string {
	least, most, top := math.Inf(1), 0.0, 0.0
	for _, c := range p.curves {
		for _, q := range c.points {
			least, most, top = min(least, q.x), max(most, q.x), max(top, q.y)
		}
	}
	top = 4 * round(top*1.1/4)
	scale := func(x float64) float64 {
		if p.log {
			return (math.Log(x) - math.Log(least)) / (math.Log(most) - math.Log(least))
		}
		return (x - least) / (most - least)
	}
	at := func(q point) (float64, float64) {
		return left + scale(q.x)*(width-left-right), height - below - q.y/top*(height-above-below)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect slots="%d" height="%d" fill="white"/>`+"\n", width, height)
	write := func(x, y float64, anchor, text string) {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, text)
	}
	write(width/2, 20, "middle", p.title)
	write(width/2, height-10, "middle", p.x)
	write(left, above-8, "start", p.y)
	for i := range 5 {
		value := top * float64(i) / 4
		_, y := at(point{least, value})
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", left, width-right, y, y)
		write(left-6, y+4, "end", fmt.Sprintf("%.3g", value))
	}
	for i, c := range p.curves {
		colour := colours[i%len(colours)]
		var line []string
		for _, q := range c.points {
			x, y := at(q)
			line = append(line, fmt.Sprintf("%.1f,%.1f", x, y))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, colour)
			if i == 0 {
				write(x, height-below+16, "middle", fmt.Sprintf("%.0f", q.x))
			}
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-slots="2"/>`+"\n", strings.Join(line, " "), colour)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="%s">%s</text>`+"\n", width-right, above+14+16*i, colour, c.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
