package engine

import "context"

// Unpacker is an engine whose backups this tool makes into a data directory itself: its LoadCommand runs LoadInput.Tool
// with UnpackCommand.
type Unpacker interface {
	// Unpack makes the directory of a backup's file, and compares every byte with what the backup says of itself. The
	// directory must not exist. After an error it is worthless.
	Unpack(ctx context.Context, file, directory string) error
	// ReadsOnce says whether Unpack reads the file of such a backup from its beginning to its end, and not again: then it
	// may be a pipe.
	ReadsOnce(SnapshotFacts) bool
}

// UnpackCommand is the LoadCommand of an Unpacker.
func UnpackCommand(name string, in LoadInput) []string {
	return append([]string{in.Tool, "helper", "unpack", "--engine", name, "--file", in.File, "--to", in.DataDir},
		in.Forward...)
}
