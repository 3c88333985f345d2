package logfile

import "testing"

func TestNames(t *testing.T) {
	t.Parallel()
	n := Name{History: History("5d8673c2912c4b7f286cc848a2a3076cd276b800"), End: 4711}
	if got, ok := ParseName(n.String()); !ok || got != n || n.String() != "5d8673c2912c4b7f-0000000000001267" {
		t.Errorf("%s is read as %v, %t", n, got, ok)
	}
	for _, f := range []Fork{
		{Timeline: 3, History: n.History, Base: -17, Parent: "0123456789abcdef", Begin: 42},
		{Timeline: 2, History: n.History},
	} {
		got, ok := ParseFork(f.Name(), f.Start(), f.End())
		if !ok || got != f || !IsFork(f.Name()) {
			t.Errorf("%+v is read as %+v, %t", f, got, ok)
		}
		if _, ok := ParseName(f.Name()); ok {
			t.Errorf("%s is read as a file of the stream", f.Name())
		}
	}
	if f := (Fork{Base: 100, Begin: 142}); f.Own(f.Begin) != 42 {
		t.Errorf("it begins at %d of its own", f.Own(f.Begin))
	}
}

// FuzzNames: what is read is written alike.
func FuzzNames(f *testing.F) {
	f.Add("5d8673c2912c4b7f-0000000000001267", "none", "0")
	f.Add("0000000000000003-5d8673c2912c4b7f--17.fork", "0123456789abcdef", "42")
	f.Fuzz(func(t *testing.T, name, start, end string) {
		if n, ok := ParseName(name); ok {
			if again, ok := ParseName(n.String()); !ok || again != n {
				t.Errorf("%q is %v, and then %v", name, n, again)
			}
		}
		if k, ok := ParseFork(name, start, end); ok {
			if again, ok := ParseFork(k.Name(), k.Start(), k.End()); !ok || again != k {
				t.Errorf("%q is %v, and then %v", name, k, again)
			}
		}
	})
}
