package volume

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	frameMagic = 0xFD2FB528
	// maxStored is the most that a frame of FrameSize takes: blocks of 128 KiB that did not get smaller.
	maxStored = FrameSize + FrameSize>>12 + 64
	// maxBlock is the most that one block takes, as it is stored.
	maxBlock = 128 << 10

	checksumBytes = 4
)

// readFrame appends the next zstd frame of r to buffer, as it is stored (RFC 8878, section 3.1.1). io.EOF says that
// r ended where a frame would begin.
func readFrame(r io.Reader, buffer []byte) ([]byte, error) {
	const (
		fixed        = 5 // magic number and descriptor
		singleFlag   = 1 << 5
		checksumFlag = 1 << 2
	)
	frame, err := extend(r, buffer, fixed)
	if len(frame) == len(buffer) && errors.Is(err, io.ErrUnexpectedEOF) {
		return frame, io.EOF
	}
	if err != nil {
		return frame, err
	}
	head := frame[len(buffer):]
	if magic := binary.LittleEndian.Uint32(head); magic != frameMagic {
		return frame, fmt.Errorf("%w: a frame begins with %08x", ErrDamaged, magic)
	}
	descriptor := head[fixed-1]
	single := int(descriptor & singleFlag / singleFlag)
	rest := 1 - single // the size of the window
	rest += [...]int{0, 1, 2, 4}[descriptor&3]
	rest += [...]int{single, 2, 4, 8}[descriptor>>6]
	if frame, err = extend(r, frame, rest); err != nil {
		return frame, err
	}
	for last := false; !last; {
		if frame, last, err = readBlock(r, frame); err != nil {
			return frame, err
		}
		if len(frame)-len(buffer) > maxStored {
			return frame, fmt.Errorf("%w: a frame takes more than %d bytes", ErrDamaged, maxStored)
		}
	}
	if descriptor&checksumFlag != 0 {
		frame, err = extend(r, frame, checksumBytes)
	}
	return frame, err
}

// readBlock appends one block, and reports whether it is the last one of its frame.
func readBlock(r io.Reader, frame []byte) (longer []byte, last bool, err error) {
	const (
		head = 3
		rle  = 1 // one byte, said once
	)
	frame, err = extend(r, frame, head)
	if err != nil {
		return frame, false, err
	}
	h := frame[len(frame)-head:]
	bits := uint32(h[0]) | uint32(h[1])<<8 | uint32(h[2])<<16
	size := int(bits >> 3)
	if size > maxBlock {
		return frame, false, fmt.Errorf("%w: a block has %d bytes", ErrDamaged, size)
	}
	if bits>>1&3 == rle {
		size = 1
	}
	if len(frame) > maxBlock && len(frame)+size > cap(frame) {
		frame = slices.Grow(frame, maxStored) // it is a long one, and would be copied again and again
	}
	frame, err = extend(r, frame, size)
	return frame, bits&1 == 1, err
}

// extend appends n bytes of r. What r says of its own is passed on; its end is io.ErrUnexpectedEOF.
func extend(r io.Reader, buffer []byte, n int) ([]byte, error) {
	buffer = slices.Grow(buffer, n)
	m, err := fill(r, buffer[len(buffer):len(buffer)+n])
	buffer = buffer[:len(buffer)+m]
	switch {
	case m == n:
		return buffer, nil
	case errors.Is(err, io.EOF):
		return buffer, io.ErrUnexpectedEOF
	}
	return buffer, err
}
