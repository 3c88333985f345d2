package cli

import "testing"

func TestPalette(t *testing.T) {
	for _, test := range []struct {
		mode string
		tty  bool
		env  map[string]string
		want bool
	}{
		{colorAuto, true, nil, true},
		{colorAuto, false, nil, false},
		{colorAuto, true, map[string]string{"NO_COLOR": "1"}, false},
		{colorAuto, true, map[string]string{"TERM": "dumb"}, false},
		{colorAlways, false, map[string]string{"NO_COLOR": "1"}, true},
		{colorNever, true, nil, false},
	} {
		p := newPalette(test.mode, test.tty, func(k string) string { return test.env[k] })
		if p.on != test.want {
			t.Errorf("%+v: %t", test, p.on)
		}
		if painted := p.red("x") != "x"; painted != test.want {
			t.Errorf("%+v: painted %t", test, painted)
		}
	}
}
