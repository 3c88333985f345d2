// Package storetest holds what every store must pass, and a store that fails on demand.
package storetest

import (
	"crypto/rand"
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Run holds a store to the contract of package store. open returns an empty one for each test; t ends it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range map[string]func(t *testing.T, s store.Store){
		"put if absent":       putIfAbsent,
		"one of many wins":    oneOfManyWins,
		"ranges":              ranges,
		"missing":             missing,
		"keys":                keys,
		"list":                list,
		"list pages":          listPages,
		"delete":              deleteTwice,
		"upload":              upload,
		"upload of one part":  uploadOnePart,
		"upload is invisible": uploadInvisible,
		"upload exists":       uploadExists,
		"sweep":               sweep,
		"clock":               clock,
		"canceled":            canceled,
		"put the same":        putSame,
		"limit":               limit,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Put stores an object or ends the test.
func Put(t *testing.T, s store.Store, key, body string) {
	t.Helper()
	if err := s.Put(t.Context(), key, []byte(body), store.Options{}); err != nil {
		t.Fatal(err)
	}
}

// Content reads an object or ends the test.
func Content(t *testing.T, s store.Store, key string) string {
	t.Helper()
	b, err := store.ReadAll(t.Context(), s, key, store.MaxPut)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Keys lists all keys under a prefix.
func Keys(t *testing.T, s store.Store, prefix string) []string {
	t.Helper()
	out := []string{}
	for o, err := range store.All(t.Context(), s, prefix) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o.Key)
	}
	return out
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// Noise makes bytes that don't compress.
func Noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
