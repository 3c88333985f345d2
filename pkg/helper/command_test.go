package helper

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	for name, test := range map[string]struct {
		writes []string
		want   string
	}{
		"nothing":   {nil, ""},
		"fits":      {[]string{"abc", "de"}, "abcde"},
		"overflows": {[]string{"abc", "defg"}, "(2 bytes left out) cdefg"},
		"at once":   {[]string{"abcdefgh"}, "(3 bytes left out) defgh"},
	} {
		said := &tail{most: 5}
		for _, w := range test.writes {
			if n, err := said.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: wrote %d, %v", name, n, err)
			}
		}
		if got := said.String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestExecute(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := target{into: "/none/data", staging: "/none/staging"}
	var output bytes.Buffer
	run := func(ctx context.Context, argv []string) error {
		return execute(ctx, argv, at.file(), at.out(), nil, &output)
	}
	err = run(t.Context(), []string{exe, "engine", "copy", "--from=" + FileToken, OutToken})
	if !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), "--from=/none/staging/snapshot") {
		t.Errorf("%v", err)
	}
	if output.Len() == 0 {
		t.Error("the output was not passed on")
	}
	if err := run(t.Context(), []string{"/none/etcdutl"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without program: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := run(ctx, []string{exe, "engine", "nothing", "", ""}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
