package engine

import "context"

// Converter is what an Engine also is whose data of an older series is converted by programs of both series.
type Converter interface {
	// Converts says whether data of version from must be converted for version target, and can be. It is pure.
	Converts(from, target string) bool
	// CopyPrograms copies those programs of that version which convert its data out of the image that this runs in.
	// What a repeat finds it writes again.
	CopyPrograms(version, directory string) error
	// Convert makes what Unpack made of a backup into data of the version whose image this runs in. After an error the
	// directory is worthless.
	Convert(ctx context.Context, directory string, with Conversion) error
}

// Conversion is what Convert works with.
type Conversion struct {
	// Programs is where CopyPrograms left those of the data's version, Scratch an empty directory with a short path.
	Programs, Scratch string
}

// Converts says whether e converts data of version from for version target. It is pure.
func Converts(e Engine, from, target string) bool {
	c, ok := e.(Converter)
	return ok && c.Converts(from, target)
}
