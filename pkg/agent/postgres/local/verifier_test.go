package local

import (
	"encoding/base64"
	"testing"
)

// TestVerifier computes the example of RFC 7677.
func TestVerifier(t *testing.T) {
	t.Parallel()
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	got, err := verifier("pencil", salt, 4096)
	want := "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" +
		"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
	if got != want || err != nil {
		t.Errorf("it is %s, want %s: %v", got, want, err)
	}
	if !Verifies(want, "pencil") || Verifies(want, "pencil ") || Verifies("", "") || Verifies("md5abc", "abc") {
		t.Error("it does not tell passwords apart")
	}
	if a, _ := NewVerifier("x"); a == "" || !Verifies(a, "x") {
		t.Errorf("%q is not of its own password", a)
	}
}
