package helper

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func TestLentReaderIsGivenBack(t *testing.T) {
	broken := errors.New("broken")
	l := &lentReader{source: io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken))}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(io.Discard, l) })
	wg.Wait()
	if !errors.Is(l.failure, broken) {
		t.Errorf("failure: %v", l.failure)
	}
	whole := &lentReader{source: strings.NewReader("ab")}
	if b, err := io.ReadAll(whole); string(b) != "ab" || err != nil || whole.failure != nil {
		t.Errorf("%q, %v, failure %v", b, err, whole.failure)
	}
	untouched := strings.NewReader("ab")
	l = &lentReader{source: untouched}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(make([]byte, 1)); err == nil || untouched.Len() != 2 {
		t.Errorf("read after Close: %v", err)
	}
}
