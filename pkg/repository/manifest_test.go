package repository

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testID = "db-20261121T101500Z-0a1b"

var emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestDecodeManifest(t *testing.T) {
	good := `{"format":1,"id":"` + testID + `","file":"x.snapshot","bytes":0,"sha256":"` + emptySum +
		`","facts":{"proof":"7 keys","auth":true}}`
	m, err := decodeManifest(testID, []byte(good))
	if err != nil || m.Facts.Proof != "7 keys" || !m.Facts.Auth {
		t.Fatalf("a good one: %+v, %v", m, err)
	}
	for name, change := range map[string]struct {
		from, to string
		want     error
	}{
		"cut short":       {`}}`, ``, ErrDamaged},
		"another id":      {`"id":"db`, `"id":"xx`, ErrDamaged},
		"newer":           {`"format":1`, `"format":2`, ErrFormat},
		"no format":       {`"format":1`, `"format":0`, ErrDamaged},
		"file elsewhere":  {`x.snapshot`, `../x`, ErrDamaged},
		"hidden file":     {`x.snapshot`, `..`, ErrDamaged},
		"no file":         {`x.snapshot`, ``, ErrDamaged},
		"negative":        {`"bytes":0`, `"bytes":-1`, ErrDamaged},
		"short hash":      {emptySum, `e3b0`, ErrDamaged},
		"hash of letters": {`e3b0`, `zzzz`, ErrDamaged},
		"not an object":   {good, `[]`, ErrDamaged},
	} {
		_, err := decodeManifest(testID, []byte(strings.Replace(good, change.from, change.to, 1)))
		if !errors.Is(err, change.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"` + testID + `","file":"a","sha256":"` + emptySum + `"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := decodeManifest(testID, content)
		if err != nil {
			return
		}
		again, err := encodeManifest(m)
		if err != nil {
			t.Skip("a time that JSON can't hold")
		}
		if _, err := decodeManifest(testID, again); err != nil {
			t.Fatalf("%s became %s: %v", content, again, err)
		}
	})
}

func TestVerificationKeepsUnknownFields(t *testing.T) {
	d := testDirectory(t)
	testPut(t, d, "op", "data")
	content, err := os.ReadFile(d.manifestPath(testID))
	if err != nil {
		t.Fatal(err)
	}
	future := strings.Replace(string(content), "{", `{"encryption":{"key":"k1"},`, 1)
	if err := os.WriteFile(d.manifestPath(testID), []byte(future), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.AddProof(t.Context(), testID, Proof{Level: LevelRestorable,
		Verification: Verification{Time: time.Unix(9, 0).UTC(), Version: "3.6.1"}}); err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(d.manifestPath(testID))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Encryption map[string]string
		Verified   Verification
	}
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"key": "k1"}, got.Encryption); d != "" || got.Verified.Version != "3.6.1" {
		t.Errorf("manifest now: %s", content)
	}
}
