package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestDraw(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := draw(strings.NewReader("$ kubectl dbop <plan> & go\n\n\x1b[32mdone\x1b[0m in 3 s\n"+strings.Repeat("x", 200)+
		"\n"), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kubectl dbop &lt;plan&gt; &amp; go", `<tspan fill="#7bd88f">done</tspan> in 3 s`,
		strings.Repeat("x", widest-1) + "…<"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
	for d := xml.NewDecoder(&out); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	t.Parallel()
	if err := draw(strings.NewReader("\n\n"), io.Discard); err == nil {
		t.Error("an empty picture was drawn")
	}
}
