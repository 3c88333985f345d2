package postgres

import "testing"

func TestParseMajor(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": 15, "postgres (PostgreSQL) 18beta1": 18,
		"postgres (PostgreSQL) 9.6.1": 0, "": 0,
	} {
		if _, got, err := parseVersion(out); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", out, got, err)
		}
	}
}
