package repository

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLocation(t *testing.T) {
	for url, want := range map[string]Location{
		"dir:/var/backups":       {Kind: KindDirectory, Path: "/var/backups"},
		"dir:/var//backups/./x/": {Kind: KindDirectory, Path: "/var/backups/x"},
		"dir:backups":            {Kind: KindDirectory, Path: "backups"},
		"dir:./~":                {Kind: KindDirectory, Path: "~"},
		"/var/backups":           {Kind: KindDirectory, Path: "/var/backups"},
		"./backups":              {Kind: KindDirectory, Path: "backups"},
		"../backups:old":         {Kind: KindDirectory, Path: "../backups:old"},
		".":                      {Kind: KindDirectory, Path: "."},
		"pvc:backups":            {Kind: KindClaim, Claim: "backups"},
		"pvc:backups/":           {Kind: KindClaim, Claim: "backups"},
		"offsite":                {Kind: KindNamed, Name: "offsite"},
		"pvc:my.backups-1/a//b/": {Kind: KindClaim, Claim: "my.backups-1", Path: "a/b"},
	} {
		got, err := ParseLocation(url)
		if err != nil {
			t.Errorf("%q: %v", url, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", url, d)
		}
	}
}

func TestParseLocationRefuses(t *testing.T) {
	for url, hint := range map[string]string{
		"":                        "dir:/absolute/path",
		"Backups":                 `("dir:./Backups") or a claim ("pvc:Backups")`,
		"back.ups":                `is no name of one`,
		"-b":                      `is no name of one`,
		"file:///var/backups":     `"dir:/var/backups"`,
		"s3://me:secret@bucket/x": "repository add NAME",
		"ftp://bucket/x":          `scheme "ftp" is not supported`,
		"dir:":                    "names no directory",
		"dir:~/backups":           "not expanded",
		"pvc:":                    "cannot be the name",
		"pvc:Backups":             "cannot be the name",
		"pvc:-b":                  "cannot be the name",
		"pvc:a..b":                "cannot be the name",
		"pvc:b/../etc":            "leads out",
		"dir:/a\x00b":             "cannot be printed",
		"dir:/\xff":               "cannot be printed",
		strings.Repeat("a", 5000): "say which",
	} {
		_, err := ParseLocation(url)
		if !errors.Is(err, ErrLocation) || !strings.Contains(err.Error(), hint) ||
			strings.Contains(err.Error(), "secret@") {
			t.Errorf("%.40q: %.200v; want it to mention %q", url, err, hint)
		}
	}
}

func TestLocationWithin(t *testing.T) {
	for url, want := range map[string]string{
		"dir:backups":   "dir:/home/me/backups",
		"../backups":    "dir:/home/backups",
		"dir:/b":        "dir:/b",
		"pvc:claim/sub": "pvc:claim/sub",
	} {
		l, err := ParseLocation(url)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Within("/home/me").String(); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}

func FuzzParseLocation(f *testing.F) {
	for _, url := range []string{"dir:/a/../b", "dir:~x", "./~", "pvc:a.b/c", "pvc:a/./..b", "file:///x", "dir:dir:x",
		"..//x"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		l, err := ParseLocation(url)
		if err != nil {
			if !errors.Is(err, ErrLocation) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		again, err := ParseLocation(l.String())
		if err != nil || again != l {
			t.Fatalf("%q is %+v, its URL %q is %+v, %v", url, l, l.String(), again, err)
		}
		if l.Kind == KindClaim && (strings.HasPrefix(l.Path, "/") || strings.HasPrefix(l.Path+"/", "../")) {
			t.Fatalf("%q leads out of the claim: %+v", url, l)
		}
	})
}
