package repository

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNewID(t *testing.T) {
	now := time.Date(2026, 11, 21, 11, 15, 0, 0, time.FixedZone("CET", 3600))
	id, err := NewID("my-db", now, bytes.NewReader([]byte{0x0a, 0x1b}))
	if err != nil || id != "my-db-20261121T101500Z-0a1b" {
		t.Errorf("NewID: %q, %v", id, err)
	}
	if at, ok := TimeOf(id); !ok || !at.Equal(now) {
		t.Errorf("TimeOf: %s, %t", at, ok)
	}
	for _, without := range []string{"", "full", "my-db-0a1b-1"} {
		if _, ok := TimeOf(without); ok {
			t.Errorf("%q has a time", without)
		}
	}
	if _, err := NewID("my-db", now, strings.NewReader("x")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without randomness: %v", err)
	}
	if _, err := NewID("../db", now, strings.NewReader("xx")); !errors.Is(err, ErrID) {
		t.Errorf("of a bad cluster: %v", err)
	}
}

func TestValidID(t *testing.T) {
	for id, want := range map[string]bool{
		"my-db-20261121T101500Z-0a1b": true,
		"a":                           true,
		"":                            false,
		".":                           false,
		"..":                          false,
		"-x":                          false,
		"Tx":                          false,
		"a/b":                         false,
		"a.b":                         false,
		"A":                           false,
		"a\nb":                        false,
		strings.Repeat("a", 128):      true,
		strings.Repeat("a", 129):      false,
	} {
		if got := ValidID(id); got != want {
			t.Errorf("%.40q: %v", id, got)
		}
		if err := CheckID(id); (err == nil) != want {
			t.Errorf("%.40q: %v", id, err)
		}
	}
}

func TestBelongs(t *testing.T) {
	const id = "db-1-20261121T101500Z-0a1b"
	if !belongs(id, "db-1") || belongs(id, "db") || belongs(id, "") {
		t.Error("clusters db and db-1 mix")
	}
}

func FuzzValidID(f *testing.F) {
	for _, id := range []string{"db-20261121T101500Z-0a1b", "../x", "a/../../b", "con", "a\x00"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if ValidID(id) && (!filepath.IsLocal(id) || filepath.Base(id) != id || id[0] == '.') {
			t.Fatalf("%q is no file name", id)
		}
	})
}

func TestNextID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"my-db-20261121T101500Z-0a1b": "my-db-20261121T101500Z-0a1c",
		"my-db-20261121T101500Z-ffff": "my-db-20261121T101500Z-0000",
		"b1":                          "b1-0001",
		"mine":                        "mine-0001",
	} {
		got := NextID(id)
		if got != want || !ValidID(got) {
			t.Errorf("after %s comes %s, want %s", id, got, want)
		}
	}
}
