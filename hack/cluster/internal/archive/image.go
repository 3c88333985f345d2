package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image says what is in an image and how it starts.
type Image struct {
	// Name is the full reference, "dbop.test/path:tag". Also are further ones.
	Name string
	Also []string
	// Tree is a directory of this machine that becomes the root, and belongs to root. Without it there is what a static
	// program needs.
	Tree string
	// Programs are files of this machine that become /usr/local/bin/*.
	Programs []string
	// Dirs are empty directories that the image has, without leading slash.
	Dirs       []string
	Entrypoint []string
	Command    []string
	// User is a number, or empty for root.
	User       string
	WorkingDir string
	Ports      []string
	Volumes    []string
	// Env replaces what a static program gets.
	Env []string
	// StopSignal is sent to end a container, if not SIGTERM.
	StopSignal string
	// own are files and directories of this image besides.
	own []entry
}

// Parts are the paths on this machine that the image is made of.
func (i Image) Parts() []string {
	if i.Tree == "" {
		return i.Programs
	}
	return append([]string{i.Tree}, i.Programs...)
}

// Write builds the image and stores it at path as a docker archive.
func (i Image) Write(path string) error {
	names := make([]name.Tag, 0, 1+len(i.Also))
	for _, full := range append([]string{i.Name}, i.Also...) {
		tag, err := name.NewTag(full, name.StrictValidation)
		if err != nil {
			return fmt.Errorf("an image needs a full name like dbop.test/path:tag: %w", err)
		}
		names = append(names, tag)
	}
	image, err := i.assemble()
	if err != nil {
		return fmt.Errorf("build the image %s: %w", i.Name, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the directory for image archives: %w", err)
	}
	// Renamed into place, so that nobody ever imports half an archive.
	partial := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(partial)
	tagged := map[name.Tag]v1.Image{}
	for _, tag := range names {
		tagged[tag] = image
	}
	if err := tarball.MultiWriteToFile(partial, tagged); err != nil {
		return fmt.Errorf("write the archive of %s: %w", i.Name, err)
	}
	if err := os.Rename(partial, path); err != nil {
		return fmt.Errorf("put the archive of %s in place: %w", i.Name, err)
	}
	return nil
}

// assemble stacks the layers and sets the configuration.
func (i Image) assemble() (v1.Image, error) {
	ground, err := i.ground()
	if err != nil {
		return nil, err
	}
	binaries, err := programs(i.Programs)
	if err != nil {
		return nil, err
	}
	var layers []v1.Layer
	for _, entries := range [][]entry{ground, binaries} {
		packed, err := layer(entries)
		if err != nil {
			return nil, err
		}
		layers = append(layers, packed)
	}
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, fmt.Errorf("stack the layers: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the bare image: %w", err)
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = runtime.GOARCH, "linux"
	file.Config = i.config()
	return mutate.ConfigFile(image, file)
}

// ground is all but the programs.
func (i Image) ground() (entries []entry, err error) {
	if i.Tree == "" {
		entries = base()
	} else if entries, err = tree(i.Tree); err != nil {
		return nil, err
	}
	for _, dir := range i.Dirs {
		entries = append(entries, entry{name: dir + "/", mode: 0o755})
	}
	return append(entries, i.own...), nil
}

// config is the part of the configuration that says how a container starts.
func (i Image) config() v1.Config {
	config := v1.Config{
		Entrypoint: i.Entrypoint,
		Cmd:        i.Command,
		User:       i.User,
		WorkingDir: i.WorkingDir,
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
		},
		ExposedPorts: set(i.Ports),
		Volumes:      set(i.Volumes),
		StopSignal:   i.StopSignal,
	}
	if i.Env != nil {
		config.Env = i.Env
	}
	return config
}

// set is how a configuration writes a list; without members it is left out.
func set(members []string) map[string]struct{} {
	if len(members) == 0 {
		return nil
	}
	written := map[string]struct{}{}
	for _, member := range members {
		written[member] = struct{}{}
	}
	return written
}
