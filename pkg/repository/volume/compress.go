// Package volume makes of a stream what a repository stores and back: zstd frames, under age where there are
// recipients. Stock tools read it: "age -d | zstd -d".
package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// FrameSize is how much of a stream one zstd frame holds, but the last one.
const FrameSize = 4 << 20

// maxWorkers bounds the memory of a Compressor: 3 frames each, about 10 MiB.
const maxWorkers = 8

// Frame is a piece of a stream.
type Frame struct {
	// Plain is what was read, Stored the zstd frame of it. Both are only good until the next frame.
	Plain, Stored []byte

	done chan struct{}
}

// Compress reads r to its end and calls use with the frames in order, from one goroutine. It compresses several
// at once. An error of use, or of r, ends it.
func Compress(ctx context.Context, r io.Reader, use func(*Frame) error) error {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(workers),
		zstd.WithWindowSize(FrameSize), zstd.WithEncoderCRC(true))
	if err != nil {
		return fmt.Errorf("make a compressor: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	c := compression{
		encoder: encoder, free: make(chan *Frame, 2*workers+1), work: make(chan *Frame, 2*workers+1),
		queue: make(chan *Frame, 2*workers+1),
	}
	for range cap(c.free) {
		c.free <- &Frame{Plain: make([]byte, FrameSize)}
	}
	var running sync.WaitGroup
	for range workers {
		running.Go(c.compress)
	}
	var failed error
	running.Go(func() {
		failed = c.read(ctx, r)
		close(c.work)
		close(c.queue)
	})
	err = c.pass(use)
	stop()
	for range c.queue { // what was read after the error is dropped
	}
	running.Wait()
	if err == nil {
		err = failed
	}
	return errors.Join(err, encoder.Close())
}

// compression is one run: read fills frames, several goroutines compress them, pass uses them in order.
type compression struct {
	encoder           *zstd.Encoder
	free, work, queue chan *Frame
}

func (c *compression) read(ctx context.Context, r io.Reader) error {
	for {
		var f *Frame
		select {
		case f = <-c.free:
		case <-ctx.Done():
			return ctx.Err()
		}
		n, err := fill(r, f.Plain[:FrameSize])
		if n > 0 {
			f.Plain, f.done = f.Plain[:n], make(chan struct{})
			c.work <- f
			c.queue <- f
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// fill is io.ReadFull with the reader's own error, so that the end of a stream differs from a cut.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

func (c *compression) compress() {
	for f := range c.work {
		f.Stored = c.encoder.EncodeAll(f.Plain, f.Stored[:0])
		close(f.done)
	}
}

func (c *compression) pass(use func(*Frame) error) error {
	for f := range c.queue {
		<-f.done
		if err := use(f); err != nil {
			return err
		}
		c.free <- f
	}
	return nil
}
