package archive

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"my-db": "my-db", "3.6.1": "3.6.1", "0/16B3748": "0!2f16B3748", "a_b": "a!5fb", ".x": "!2ex", "é": "!c3!a9", "": "",
	} {
		got := escape(text)
		if got != want {
			t.Errorf("%q: %q", text, got)
		}
		if back, ok := unescape(got); !ok || back != text {
			t.Errorf("%q came back as %q", text, back)
		}
	}
	for _, text := range []string{"!", "!2", "!zz", "!61", "!2F", "!1b", "!ff", "a_b", "!e2!80!ae"} {
		if got, ok := unescape(text); ok {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

// TestLongNames leaves out what describes, and never what a retention needs.
func TestLongNames(t *testing.T) {
	m := &Manifest{
		Attempt: "01KAF4ZV1CQ1DW31NN2ZQHCB7D", ID: strings.Repeat("i", 100), Scope: scope, Engine: "etcd", Incarnation: "1",
		Version: "3.6.1", Position: strings.Repeat("p", 200), FinishedAt: time.Unix(1, 0),
	}
	key, err := m.key()
	if err != nil || store.CheckKey(key) != nil {
		t.Fatal(key, err)
	}
	e, ok := parseEntry(store.Object{Key: key})
	if !ok || e.ID != m.ID || e.Incarnation != "1" || e.Version != "3.6.1" || e.Position != "" {
		t.Errorf("%+v", e)
	}
	m.ID = strings.Repeat("i", 250)
	if key, err := m.key(); err == nil {
		t.Error(key)
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add("manifests/team-a/my-db/01KAF4ZV1CQ1DW31NN2ZQHCB7D_n-b_e-etcd_b-10_f-1_x-se_v-3.6.1_i-1_r-4711.json")
	f.Add("manifests/!/x/01KAF4ZV1CQ1DW31NN2ZQHCB7D_n-!1b_e-etcd.json")
	f.Add("manifests///01KAF4ZV1CQ1DW31NN2ZQHCB7D_n-b_e-etcd.json")
	f.Fuzz(func(t *testing.T, key string) {
		e, ok := parseEntry(store.Object{Key: key})
		if !ok {
			return
		}
		shown := []string{e.ID, e.Engine, e.Version, e.Incarnation, e.Namespace, e.Cluster, e.Position, e.Parent}
		for _, text := range shown {
			if !printable(text) {
				t.Fatalf("%q shows %q", key, text)
			}
		}
		if !isAttempt(e.Attempt) || e.Bytes < 0 || !strings.HasPrefix(key, e.prefix(kindManifest)+e.Attempt) {
			t.Fatalf("%q is %+v", key, e)
		}
	})
}

func FuzzManifest(f *testing.F) {
	keys, _ := testKeys(f)
	a := Open(nil, keys)
	good, err := a.sign(&Manifest{Format: Format, ID: "b", Streams: []Stream{{Name: "x"}}})
	if err != nil {
		f.Fatal(err)
	}
	signedText, _, _ := strings.Cut(string(good), "\n\n")
	f.Add(good, `{"format":2,"streams":[{"name":"a","volumes":[{"bytes":1}]}]}`)
	f.Fuzz(func(t *testing.T, object []byte, text string) {
		// Of an attacker, who can't sign.
		if err := a.verify(object, &Manifest{}); err == nil && !strings.HasPrefix(string(object), signedText) {
			t.Fatal("it is signed")
		}
		// Of a writer that was taken over.
		m := &Manifest{}
		signed, err := a.sign(jsonText(text))
		if err != nil || a.verify(signed, m) != nil || m.check() != nil {
			return
		}
		if total := m.Stored(); total < 0 {
			t.Fatalf("%s has %d bytes", text, total)
		}
		for _, s := range m.Streams {
			if err := store.CheckKey(m.volumeKey(s.Name, 0)); err != nil && len(m.Cluster)+len(m.Namespace) < 200 {
				t.Fatalf("%s leads to %q", text, m.volumeKey(s.Name, 0))
			}
		}
	})
}

type jsonText string

func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(j), nil }
