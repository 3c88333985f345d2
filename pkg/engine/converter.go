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

// InPlaceConverter is what a Converter also is that converts data on the volume of its member, where both versions
// share the files: nothing of the size of the data is copied.
type InPlaceConverter interface {
	Converter

	// ConvertInPlace converts the data directory of a member that was stopped. What else
	// the member kept on its volume, such as its share of an agreement, does not become the later version's. A repeat
	// for the same operation goes on, wherever it was interrupted.
	ConvertInPlace(ctx context.Context, directory, operation string, with Conversion) error
	// RevertInPlace makes the volume what it was before, and changes nothing and returns false if the later version was
	// started on it already, or if its data had to be recovered first (DataDirInfo.InOrder). It needs no program of the
	// database.
	RevertInPlace(directory, operation string) (bool, error)
}

// Conversion is what Convert works with.
type Conversion struct {
	// Programs is where CopyPrograms left those of the data's version, Scratch an empty directory with a short path.
	Programs, Scratch string
}

// ConvertsInPlace says whether e converts data on the volume of its member, too. It is pure.
func ConvertsInPlace(e Engine) bool {
	_, ok := e.(InPlaceConverter)
	return ok
}

// Converts says whether e converts data of version from for version target. It is pure.
func Converts(e Engine, from, target string) bool {
	c, ok := e.(Converter)
	return ok && c.Converts(from, target)
}
