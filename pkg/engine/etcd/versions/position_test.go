package versions

import (
	"testing"
)

func FuzzVersion(f *testing.F) {
	f.Add("v3.6.16-rc.0+x")
	f.Add("3.6")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(v.String()); err != nil || again != v {
			t.Errorf("%q reads as %v, again as %v (%v)", s, v, again, err)
		}
	})
}
