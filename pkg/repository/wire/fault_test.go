package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

var (
	errFull = errors.New("full")
	errBusy = errors.New("busy")
)

var testTable = Table{
	{Code: "full", Status: http.StatusInsufficientStorage, Err: errFull},
	{Code: "busy", Status: http.StatusLocked, Err: errBusy},
}

func TestFaultsCrossTheWire(t *testing.T) {
	for name, test := range map[string]struct {
		sent   error
		status int
		want   error
	}{
		"first":       {fmt.Errorf("write: %w", errFull), http.StatusInsufficientStorage, errFull},
		"second":      {fmt.Errorf("write: %w", errBusy), http.StatusLocked, errBusy},
		"two":         {errors.Join(errBusy, errFull), http.StatusInsufficientStorage, errFull},
		"passed on":   {&Fault{Code: "busy", Message: "m", kind: errBusy}, http.StatusLocked, errBusy},
		"of no table": {io.ErrNoProgress, http.StatusInternalServerError, nil},
	} {
		rec := httptest.NewRecorder()
		testTable.Refuse(rec, test.sent)
		got := testTable.Check(rec.Result())
		if rec.Code != test.status || got == nil || got.Error() != test.sent.Error() {
			t.Errorf("%s: status %d, %v", name, rec.Code, got)
		}
		for _, err := range []error{errFull, errBusy} {
			if errors.Is(got, err) != errors.Is(test.want, err) {
				t.Errorf("%s: %v is %v: %v", name, got, err, errors.Is(got, err))
			}
		}
	}
}

func TestCheckMeetsAStranger(t *testing.T) {
	for name, body := range map[string]string{
		"text":  strings.Repeat("<html>", 100),
		"other": `{"error":"x"}`,
		"empty": "",
	} {
		rec := httptest.NewRecorder()
		rec.WriteHeader(http.StatusNotFound)
		if _, err := rec.WriteString(body); err != nil {
			t.Fatal(err)
		}
		err := testTable.Check(rec.Result())
		if err == nil || !strings.Contains(err.Error(), "404") || len(err.Error()) > 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
	rec := httptest.NewRecorder()
	rec.WriteHeader(http.StatusNoContent)
	if err := testTable.Check(rec.Result()); err != nil {
		t.Errorf("a success: %v", err)
	}
}

func TestUnknownCode(t *testing.T) {
	f := testTable.Unpack(Fault{Code: "newer", Message: "from the future", kind: errFull})
	if errors.Is(f, errFull) || f.Error() != "from the future" {
		t.Errorf("%v", f)
	}
}
