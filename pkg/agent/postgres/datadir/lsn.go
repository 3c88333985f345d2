package datadir

import (
	"fmt"
	"strconv"
	"strings"
)

// LSN is a place in the log, as PostgreSQL counts it.
type LSN uint64

func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint64(l)>>32, uint64(l)&0xffffffff) }

// ParseLSN reads "16/B374D848".
func ParseLSN(s string) (LSN, error) {
	high, low, cut := strings.Cut(s, "/")
	h, err1 := strconv.ParseUint(high, 16, 32)
	l, err2 := strconv.ParseUint(low, 16, 32)
	if !cut || err1 != nil || err2 != nil {
		return 0, fmt.Errorf("read a place in the log: %q is none", s)
	}
	return LSN(h<<32 | l), nil
}
