package source

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func message(kind byte, content []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(content)+4)), content...)
}

// status says what a server wrote, flushed and applied.
func status(written, flushed, applied LSN) []byte {
	out := []byte{statusMessage}
	for _, at := range []LSN{written, flushed, applied, 0} {
		out = binary.BigEndian.AppendUint64(out, uint64(at))
	}
	return message(copyMessage, append(out, 1))
}

// TestConfirming: a source is told of no more than is allowed, and of that as soon as it is. All else passes as it is.
func TestConfirming(t *testing.T) {
	t.Parallel()
	near, program := net.Pipe()
	far, source := net.Pipe()
	t.Cleanup(func() { _, _, _, _ = near.Close(), program.Close(), far.Close(), source.Close() })
	d := &Door{to: &Source{}, bounded: map[*confirming]bool{}, within: map[net.Conn]bool{}}
	if d.bound(far) != nil {
		t.Error("a source that is copied is told less than it could")
	}
	d.to.Kept = true
	c := d.bound(far)
	go func() { _ = c.pass(near) }()
	says := func(sent []byte, want []byte) {
		t.Helper()
		go func() { _, _ = program.Write(sent) }()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(source, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff) // what comes next would not come
		}
	}
	begin := message(queryMessage, []byte("START_REPLICATION SLOT \"dbop_1_ab_5\" LOGICAL 0/0 (proto_version '2')\x00"))
	says(begin, begin)
	if got := d.Flushed([]string{"dbop_1_ab_5"}); got != 0 {
		t.Errorf("before it said anything, %s is on disk", got)
	}
	says(status(30, 20, 20), status(30, 0, 20))
	if got := d.Flushed([]string{"dbop_1_ab_5"}); got != 20 {
		t.Errorf("%s is on disk", got)
	}
	if got := d.Flushed([]string{"dbop_1_ab_5", "dbop_1_ab_6"}); got != 0 {
		t.Errorf("with a slot that nobody reads, %s is on disk", got)
	}
	allowed := make(chan struct{})
	go func() {
		d.Allow(15)
		close(allowed)
	}()
	quiet := status(30, 15, 20)
	quiet[len(quiet)-1] = 0
	says(nil, quiet)
	<-allowed
	d.Allow(15) // nothing new is told, which nobody would read here
	says(status(40, 40, 40), status(40, 15, 40))
	large := message(copyMessage, bytes.Repeat([]byte{statusMessage}, longest+1))
	says(large, large)
	end := message('c', nil)
	says(end, end)
	d.Shut()
	if d.allowed != 0 {
		t.Error("a door that opens again allows what the one before did")
	}
	d.unbound(c)
	if got := d.Flushed([]string{"dbop_1_ab_5"}); got != 0 {
		t.Errorf("after its end %s is on disk", got)
	}
}

func TestLSN(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]LSN{"0/0": 0, "1/A0": 1<<32 + 160, "FFFFFFFF/FFFFFFFF": 1<<64 - 1} {
		got, err := ParseLSN(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "1/", "/1", "g/1", "1/100000000"} {
		if got, err := ParseLSN(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
