package main

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
		rest []string
	}{
		"one word":  {[]string{"load", "a.tar"}, "load", []string{"a.tar"}},
		"two words": {[]string{"node", "cut", "node-1"}, "node cut", []string{"node-1"}},
		"neither":   {[]string{"node", "paint"}, "", nil},
		"nothing":   {nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, rest := find(test.args)
			if got != test.want || !slices.Equal(rest, test.rest) {
				t.Errorf("got %q %v, want %q %v", got, rest, test.want, test.rest)
			}
		})
	}
}

func TestInterspersed(t *testing.T) {
	var given options
	positional, err := interspersed(given.flags("x"), []string{"a", "--nodes", "3", "b", "--group=g", "--group=h"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(positional, []string{"a", "b"}) || given.nodes != 3 || given.groups.String() != "g,h" {
		t.Errorf("%v %+v", positional, given)
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{}, {"dance"}, {"node", "cut"}, {"component", "restart"}, {"load"}, {"status", "extra", "args"}, {"up", "--nodse=3"}} {
		err := dispatch(context.Background(), args)
		if err == nil || !strings.Contains(err.Error(), "usage: cluster") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
