package api

import (
	"strings"
	"testing"
)

func TestBrief(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"promote: the server ended: 2026-11-28 11:13:28.069 GMT [98] LOG:  unrecognized configuration parameter \"x\"\n" +
			"2026-11-28 11:13:28.070 GMT [98] FATAL:  configuration file contains errors": "promote: the server ended: " +
			"LOG: unrecognized configuration parameter \"x\" FATAL: configuration file contains errors",
		"follow: the server ended: 40:M 28 Nov 2026 11:13:28.069 # Out Of Memory": "follow: the server ended: Out Of Memory",
		strings.Repeat("ä", mostBrief):                                            strings.Repeat("ä", mostBrief/2) + " ...",
	} {
		if got := brief(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}
