package basebackup

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// changed is a file as the server writes it: a header, the numbers of blocks, and their content.
func changed(keep uint32, blocks map[uint32]byte) []byte {
	var numbers []uint32
	for b := range blocks {
		numbers = append(numbers, b)
	}
	slices.Sort(numbers)
	out := binary.LittleEndian.AppendUint32(nil, changesMagic)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(numbers)))
	out = binary.LittleEndian.AppendUint32(out, keep)
	for _, b := range numbers {
		out = binary.LittleEndian.AppendUint32(out, b)
	}
	if len(numbers) > 0 {
		out = append(out, make([]byte, -len(out)&(pageSize-1))...)
	}
	for _, b := range numbers {
		out = append(out, page(blocks[b])...)
	}
	return out
}

func page(of byte) []byte { return bytes.Repeat([]byte{of}, pageSize) }

// pages are blocks, each of one letter; "0" is a block of zeros, and a small letter "x" half a block.
func pages(text string) []byte {
	var out []byte
	for _, c := range []byte(text) {
		switch c {
		case '0':
			out = append(out, make([]byte, pageSize)...)
		case 'x':
			out = append(out, page(c)[:pageSize/2]...)
		default:
			out = append(out, page(c)...)
		}
	}
	return out
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string
		keep   uint32
		blocks map[uint32]byte
		want   string
	}{
		"nothing changed":              {"ABCD", 4, nil, "ABCD"},
		"one block":                    {"ABCD", 4, map[uint32]byte{2: 'Z'}, "ABZD"},
		"the first and the last":       {"ABCD", 4, map[uint32]byte{0: 'Y', 3: 'Z'}, "YBCZ"},
		"longer":                       {"AB", 2, map[uint32]byte{2: 'Y', 3: 'Z'}, "ABYZ"},
		"longer, with a gap":           {"AB", 2, map[uint32]byte{4: 'Z'}, "AB00Z"},
		"shorter":                      {"ABCD", 2, nil, "AB"},
		"shorter, then longer":         {"ABCD", 1, map[uint32]byte{2: 'Z'}, "A0Z"},
		"at least longer than it was":  {"AB", 4, nil, "AB00"},
		"empty":                        {"ABCD", 0, nil, ""},
		"was empty":                    {"", 0, map[uint32]byte{0: 'Z'}, "Z"},
		"stays empty":                  {"", 0, nil, ""},
		"half a block at the end":      {"ABx", 2, map[uint32]byte{1: 'Z'}, "AZ"},
		"half a block that is to stay": {"ABx", 3, nil, "AB0"},
	} {
		raw := changed(c.keep, c.blocks)
		for _, piece := range []int{1 << 20, pageSize, 5000, 1000} {
			got, err := mergeOf(append([]byte("before"), raw...), 6, int64(len(raw)), pages(c.before), piece)
			if err != nil || !bytes.Equal(got, pages(c.want)) {
				t.Errorf("%s, in pieces of %d: %d bytes, want %d, %v", name, piece, len(got), len(pages(c.want)), err)
			}
		}
	}
}

// mergeOf reads changes at a place and brings a file forward, in pieces of a size.
func mergeOf(raw []byte, at, size int64, before []byte, piece int) ([]byte, error) {
	from := bytes.NewReader(raw)
	found, err := readChanges(from, at, size)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	m := &merge{changes: found, from: from, to: &out}
	for p := range slices.Chunk(before, piece) {
		if _, err := m.Write(p); err != nil {
			return nil, err
		}
	}
	err = m.end()
	return out.Bytes(), err
}

// TestMergeRandom compares with what a plain copy of blocks makes.
func TestMergeRandom(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		before := make([]byte, pageSize*r.IntN(12))
		for i := range before {
			before[i] = byte(r.Uint32())
		}
		keep, blocks, length := uint32(r.IntN(14)), map[uint32]byte{}, 0
		for range r.IntN(8) {
			blocks[uint32(r.IntN(20))] = byte(1 + r.IntN(255))
		}
		length = int(keep)
		for b := range blocks {
			length = max(length, int(b)+1)
		}
		want := make([]byte, length*pageSize)
		copy(want[:int(keep)*pageSize], before)
		for b, of := range blocks {
			copy(want[int(b)*pageSize:], page(of))
		}
		raw := changed(keep, blocks)
		got, err := mergeOf(raw, 0, int64(len(raw)), before, 1+r.IntN(3*pageSize))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d blocks, %v on %d: %d bytes, want %d, %v", keep, blocks, len(before)/pageSize, len(got), len(want),
				err)
		}
	}
}

func TestReadChangesRefuses(t *testing.T) {
	t.Parallel()
	sound := changed(3, map[uint32]byte{1: 'A', 2: 'B'})
	set := func(at int, value uint32) []byte {
		out := bytes.Clone(sound)
		binary.LittleEndian.PutUint32(out[at:], value)
		return out
	}
	for want, raw := range map[string][]byte{
		"no header":       sound[:11],
		"it begins with":  set(0, 7),
		"and 3 blocks":    set(4, 3),
		"and 2 blocks of": sound[:len(sound)-1],
		"at least 419430": set(8, mostBlocks+1),
		"not in order: 1": set(16, 1),
		"not in order: 0": set(16, 0),
		"not in order: 4": set(16, mostBlocks),
	} {
		_, err := readChanges(bytes.NewReader(raw), 0, int64(len(raw)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
