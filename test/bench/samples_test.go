package main

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   samples
		want float64
	}{{nil, 0}, {samples{3}, 3}, {samples{9, 1, 5}, 5}, {samples{4, 1, 2, 9}, 3}} {
		if got := c.in.median(); got != c.want {
			t.Errorf("median of %v is %v, not %v", c.in, got, c.want)
		}
	}
}

// A figure that is taken again replaces the old one; the others stay.
func TestPut(t *testing.T) {
	r := rows{{Measure: "a", Value: 1}, {Measure: "b", Value: 2}}
	r.put(row{Measure: "a", Value: 3})
	r.put(row{Measure: "c", Value: 4})
	if len(r) != 3 || r[0].Value != 3 || r[1].Value != 2 || r[2].Value != 4 {
		t.Errorf("got %v", r)
	}
}
