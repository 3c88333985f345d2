package volume

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// NewName makes a name of random bytes, in hexadecimal. It is never given twice.
func NewName(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // it never fails
	return hex.EncodeToString(raw)
}

// CopyName is the name under which a copy streams: a copy that was made again has another one.
func CopyName(s protocol.Standby) string { return string(s.Member) + "." + s.Volume }

// ParseCopyName reads what CopyName wrote, and says whether it is that.
func ParseCopyName(name string) (protocol.Standby, bool) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 {
		return protocol.Standby{}, false
	}
	return protocol.Standby{Member: protocol.MemberID(name[:i]), Volume: name[i+1:]}, true
}
