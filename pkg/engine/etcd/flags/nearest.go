package flags

import "iter"

// tolerance is how many letters a mistyped name may be off.
const tolerance = 3

// nearest returns the known name that a mistyped one is closest to, "" if none is close.
func nearest(name string, known iter.Seq[string]) string {
	best, off := "", tolerance+1
	for k := range known {
		if d := distance(name, k); d < off || (d == off && k < best) {
			best, off = k, d
		}
	}
	if off > tolerance {
		return ""
	}
	return best
}

// distance counts the letters to change, insert or drop (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
