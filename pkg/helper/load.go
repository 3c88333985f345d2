package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// Errors of a load that callers compare with errors.Is, on both sides of the
// wire. Bytes that arrived wrong are repository.ErrDamaged.
var (
	// ErrOccupied: the data directory holds data that this load did not write.
	ErrOccupied = errors.New("data directory is in use")
	// ErrLoading: another request is loading already.
	ErrLoading = errors.New("another load is under way")
	// ErrVolumeFull: the volume is too small for the backup and what is made of it.
	ErrVolumeFull = errors.New("not enough space on the volume")
	// ErrCommand: the engine's load command failed; its output is in the message.
	ErrCommand = errors.New("load command failed")
)

const (
	// FileToken and OutToken in LoadOptions.Command stand for the snapshot
	// file and for the data directory that the command makes.
	FileToken = "{file}"
	OutToken  = "{out}"

	// ComparedInside takes the place of the SHA-256 of two backups that are sent as one: who sends compares each at its
	// end, and the command compares every file.
	ComparedInside = "inside"

	pathSnapshot = "/snapshot"
	pathStatus   = "/status"
	// headerSHA256 is the hash that the body must have; Content-Length is its size.
	headerSHA256 = "Dbop-Sha256"

	// defaultMargin is what a volume must have left beyond the data.
	defaultMargin = 64 << 20
)

// LoadOptions are what the command "helper load" is told.
type LoadOptions struct {
	// Listen is a loopback address with port.
	Listen string
	// Into is the data directory to make, Staging a directory beside it for
	// what is unfinished. Both are absolute.
	Into, Staging string
	// Operation is the restore's identifier, by which a repeat is known.
	Operation string
	// Command is the argv that makes FileToken into OutToken. Once says that it reads the file from its beginning to its
	// end, and not again: then it gets a pipe, and the file is not stored.
	Command []string
	Once    bool
	// Finish, if set, works on what the command made before it is put in place.
	Finish func(dataDir string) error
	// DataHash, if set, describes for the answer what the command makes of the file, while that is at work. It can't be
	// set with Once.
	DataHash func(file string, command []string) (engine.DataHash, error)
	// Margin is what must stay free beyond twice the backup, or beyond once with Once; 0 means 64 MiB.
	Margin int64
	// Output gets a copy of the command's output; nil drops it.
	Output io.Writer
}

// Run listens and receives, see Receive. It does not even listen if the work
// was done before, or can't be.
func (o LoadOptions) Run(ctx context.Context) error {
	loaded, err := o.begin()
	if loaded || err != nil {
		return err
	}
	l, err := listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	return Receive(ctx, l, o)
}

// Receive waits on l, which it closes, for one backup, and makes the data
// directory from it. It returns nil once the directory is durably in place,
// also if it was before; a load that fails is answered, and the next awaited.
// ErrOccupied if the directory holds anything else: then nothing is touched. It ends with an error once no request
// came for some minutes: who sends is gone, and starts another.
//
// A crash leaves the old state or the new one, beside remains in Staging that
// the next run removes. "<Into>.dbop-loaded" names the operation from just
// before the directory appears; it stays.
func Receive(ctx context.Context, l net.Listener, o LoadOptions) error {
	loaded, err := o.begin()
	if loaded || err != nil {
		return errors.Join(err, l.Close())
	}
	return newReceiver(o).run(ctx, l)
}

// begin judges the options and what is there: true if nothing is left to do.
func (o LoadOptions) begin() (bool, error) {
	if err := o.check(); err != nil {
		return false, err
	}
	t := o.target()
	loaded, err := t.loaded()
	if loaded && err == nil {
		err = t.clear()
	}
	if err != nil {
		return false, fmt.Errorf("load into %s: %w", o.Into, err)
	}
	return loaded, nil
}

func (o LoadOptions) check() error {
	var wrong string
	switch {
	case !filepath.IsAbs(o.Into) || !filepath.IsAbs(o.Staging):
		wrong = "data and staging directory must be absolute paths"
	case filepath.Clean(o.Into) == filepath.Clean(o.Staging):
		wrong = "data and staging directory are the same"
	case filepath.Dir(filepath.Clean(o.Into)) != filepath.Dir(filepath.Clean(o.Staging)):
		// Elsewhere a rename could not move the data.
		wrong = "the staging directory must be beside the data directory"
	case o.Operation == "" || strings.ContainsAny(o.Operation, "\r\n"):
		wrong = "the operation must have an identifier of one line"
	case len(o.Command) == 0:
		wrong = "there is no command to load with"
	case !mentions(o.Command, FileToken) || !mentions(o.Command, OutToken):
		wrong = fmt.Sprintf("the command must mention %s and %s", FileToken, OutToken)
	case o.Once && o.DataHash != nil:
		wrong = "there is no file to describe where the command reads it as it comes in"
	case o.Margin < 0:
		wrong = "the margin is negative"
	default:
		return nil
	}
	return fmt.Errorf("load into %q by way of %q: %s", o.Into, o.Staging, wrong)
}

func mentions(argv []string, token string) bool {
	for _, arg := range argv {
		if strings.Contains(arg, token) {
			return true
		}
	}
	return false
}

func (o LoadOptions) target() target {
	return target{into: filepath.Clean(o.Into), staging: filepath.Clean(o.Staging), operation: o.Operation}
}

func newReceiver(o LoadOptions) *receiver {
	margin := o.Margin
	if margin == 0 {
		margin = defaultMargin
	}
	output := o.Output
	if output == nil {
		output = io.Discard
	}
	return &receiver{
		target: o.target(), command: o.Command, once: o.Once, finish: o.Finish, dataHash: o.DataHash, margin: margin,
		output: output,
		free:   disk.Free, stall: stallAfter, status: board{status: Status{State: StateWaiting, Operation: o.Operation}},
	}
}

// loadFaults are the errors that keep their type across the wire.
func loadFaults() wire.Table {
	return wire.Table{
		{Code: "occupied", Status: http.StatusConflict, Err: ErrOccupied},
		{Code: "loading", Status: http.StatusLocked, Err: ErrLoading},
		{Code: "volume-full", Status: http.StatusInsufficientStorage, Err: ErrVolumeFull},
		{Code: "damaged", Status: http.StatusUnprocessableEntity, Err: repository.ErrDamaged},
		{Code: "command-failed", Status: http.StatusInternalServerError, Err: ErrCommand},
		{Code: "bad-request", Status: http.StatusBadRequest, Err: repository.ErrRequest},
		{Code: "canceled", Status: http.StatusServiceUnavailable, Err: context.Canceled},
	}
}
