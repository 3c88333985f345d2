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
	// Name is the full reference, "dbop.test/path:tag".
	Name string
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
}

// Write builds the image and stores it at path as a docker archive.
func (i Image) Write(path string) error {
	reference, err := name.NewTag(i.Name, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("an image needs a full name like dbop.test/path:tag: %w", err)
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
	if err := tarball.WriteToFile(partial, reference, image); err != nil {
		return fmt.Errorf("write the archive of %s: %w", i.Name, err)
	}
	if err := os.Rename(partial, path); err != nil {
		return fmt.Errorf("put the archive of %s in place: %w", i.Name, err)
	}
	return nil
}

// assemble stacks the layers and sets the configuration.
func (i Image) assemble() (v1.Image, error) {
	ground := base()
	for _, dir := range i.Dirs {
		ground = append(ground, entry{name: dir + "/", mode: 0o755})
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
	}
	for _, port := range i.Ports {
		if config.ExposedPorts == nil {
			config.ExposedPorts = map[string]struct{}{}
		}
		config.ExposedPorts[port] = struct{}{}
	}
	return config
}
