package basebackup

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

const blockSize = 512

// Kinds of entries, as the server marks them.
const (
	kindFile      = '0'
	kindLink      = '2'
	kindDirectory = '5'
)

// entry is what a header says of the bytes that follow it.
type entry struct {
	// name is below the data directory, without a slash at its end.
	name string
	kind byte
	size int64
}

// padding is how many bytes follow those of the entry up to the next header.
func (e entry) padding() int64 { return (blockSize - e.size%blockSize) % blockSize }

// Places in a header, by https://www.gnu.org/software/tar/manual/html_node/Standard.html.
const (
	placeSize, placeSum, placeKind, placeMagic, placePrefix = 124, 148, 156, 257, 345
	endName, endSize, endSum, endPrefix                     = 100, 136, 156, 500
)

// parseHeader reads one header. The server writes the plain old format: any extension is refused.
func parseHeader(raw *[blockSize]byte) (entry, error) {
	if string(raw[placeMagic:placeMagic+5]) != "ustar" {
		return entry{}, bad("a header of the archive has no mark of its format")
	}
	want, err := octal(raw[placeSum:endSum])
	if err != nil {
		return entry{}, bad("a header of the archive has no checksum")
	}
	var sum int64
	for i, b := range raw {
		if i >= placeSum && i < endSum {
			b = ' '
		}
		sum += int64(b)
	}
	if sum != want {
		return entry{}, bad("the checksum of a header of the archive is %d, not %d", sum, want)
	}
	e := entry{kind: raw[placeKind], name: text(raw[:endName])}
	if prefix := text(raw[placePrefix:endPrefix]); prefix != "" {
		e.name = prefix + "/" + e.name
	}
	if e.size, err = size(raw[placeSize:endSize]); err != nil {
		return entry{}, bad("the size of %q can't be read", e.name)
	}
	e.name = strings.TrimPrefix(e.name, "./")
	switch {
	case e.kind == kindLink:
		return entry{}, bad("%q is a link: tablespaces are not read", e.name)
	case e.kind == kindDirectory:
		e.name = strings.TrimSuffix(e.name, "/")
	case e.kind != kindFile:
		return entry{}, bad("%q is of the kind %q", e.name, e.kind)
	}
	switch {
	case e.name == "" || path.Clean(e.name) != e.name || strings.HasPrefix(e.name, "/") || e.name == ".." ||
		strings.HasPrefix(e.name, "../"):
		return entry{}, bad("%q is no name in a data directory", e.name)
	case e.kind == kindDirectory && e.size != 0:
		return entry{}, bad("the directory %q has %d bytes", e.name, e.size)
	}
	return e, nil
}

// bad is an error of an archive that is not whole, or none.
func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", engine.ErrNotSnapshot, fmt.Sprintf(format, args...))
}

func text(field []byte) string {
	before, _, _ := bytes.Cut(field, []byte{0})
	return string(before)
}

func octal(field []byte) (int64, error) {
	return strconv.ParseInt(strings.Trim(text(field), " "), 8, 64) //nolint:wrapcheck // the caller says what it is
}

// size is in octal digits, or from 8 GB on a binary number behind a set bit.
func size(field []byte) (int64, error) {
	if field[0]&0x80 == 0 {
		return octal(field)
	}
	n := int64(field[0] & 0x7f)
	for _, b := range field[1:] {
		if n >= 1<<54 {
			return 0, strconv.ErrRange
		}
		n = n<<8 | int64(b)
	}
	return n, nil
}
