package printer

import (
	"testing"
)

func TestPalette(t *testing.T) {
	for _, test := range []struct {
		mode string
		tty  bool
		env  map[string]string
		want bool
	}{
		{ColorAuto, true, nil, true},
		{ColorAuto, false, nil, false},
		{ColorAuto, true, map[string]string{"NO_COLOR": "1"}, false},
		{ColorAuto, true, map[string]string{"TERM": "dumb"}, false},
		{ColorAlways, false, map[string]string{"NO_COLOR": "1"}, true},
		{ColorNever, true, nil, false},
	} {
		p := NewPalette(test.mode, test.tty, func(k string) string { return test.env[k] })
		if p.on != test.want {
			t.Errorf("%+v: %t", test, p.on)
		}
		if painted := p.Red("x") != "x"; painted != test.want {
			t.Errorf("%+v: painted %t", test, painted)
		}
	}
}
