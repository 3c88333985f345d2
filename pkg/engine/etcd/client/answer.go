package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

// Who may create a cluster chooses what answers at its members' port.
// These bounds times the clusters that an operator works on at once fit into
// its memory limit.
const (
	// mostAnswer bounds an answer that holds no keys: the largest honest ones are
	// lists of users.
	mostAnswer = 256 << 10
	// MostPage bounds an answer with keys, and with it the largest value that
	// can be read.
	MostPage = 8 * flags.Mebibyte
	// MostFields bounds the entries of an answer, and those inside them: an empty
	// one takes two bytes on the wire and a hundred in memory.
	MostFields = 10_000
	// mostHeader bounds the headers of an answer, of gRPC and of HTTP.
	mostHeader = 64 << 10
)

// bound is the limit of one answer to a request, or of one message of a stream.
func bound(request any) grpc.CallOption {
	if r, ok := request.(*pb.RangeRequest); ok && !r.KeysOnly {
		return grpc.MaxCallRecvMsgSize(MostPage)
	}
	return grpc.MaxCallRecvMsgSize(mostAnswer)
}

// TooLong reports whether an answer was refused for its length.
func TooLong(err error) bool {
	return err != nil && strings.Contains(err.Error(), "larger than max")
}

var errFields = errors.New("the answer has too many entries to be that of etcd")

// counting is the codec of protobuf for messages with a bounded number of fields.
type counting struct {
	encoding.CodecV2

	buffers mem.BufferPool
}

// newCounting has buffers of its own: those of gRPC grow from 32 KiB to 1 MiB at once, and are cleared each time. A
// message of a snapshot is a little longer than 32 KiB, so that this took a tenth of the time of a backup.
func newCounting() counting {
	const kibibyte = 1 << 10
	return counting{encoding.GetCodecV2(proto.Name),
		mem.NewTieredBufferPool(kibibyte, 4*kibibyte, 16*kibibyte, 40*kibibyte, 256*kibibyte)}
}

// Unmarshal implements encoding.CodecV2.
func (c counting) Unmarshal(data mem.BufferSlice, into any) error {
	whole := data.MaterializeToBuffer(c.buffers)
	defer whole.Free()
	var of protoreflect.MessageDescriptor
	if m, ok := into.(protoreflect.ProtoMessage); ok {
		of = m.ProtoReflect().Descriptor()
	}
	left := MostFields
	if err := countFields(whole.ReadOnlyData(), of, &left); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{whole}, into)
}

// countFields counts the fields of a message, and of those inside it, down from left.
func countFields(data []byte, of protoreflect.MessageDescriptor, left *int) error {
	for len(data) > 0 {
		number, kind, tag := protowire.ConsumeTag(data)
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		value := data[tag:]
		n := protowire.ConsumeFieldValue(number, kind, value)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if *left--; *left < 0 {
			return fmt.Errorf("%w: more than %d", errFields, MostFields)
		}
		if inside := messageOf(of, number); inside != nil && kind == protowire.BytesType {
			nested, _ := protowire.ConsumeBytes(value)
			if err := countFields(nested, inside, left); err != nil {
				return err
			}
		}
		data = value[n:]
	}
	return nil
}

// messageOf is the kind of message that a field holds; nil if it holds none.
func messageOf(of protoreflect.MessageDescriptor, number protowire.Number) protoreflect.MessageDescriptor {
	if of == nil {
		return nil
	}
	if field := of.Fields().ByNumber(number); field != nil {
		return field.Message()
	}
	return nil
}

// once sends a request a single time and fails at once if the member can't be
// reached, with the reason. The client's own way is to wait and retry until
// the deadline, which hides the reason; here the caller observes and decides.
func once(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	return invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(false), bound(req))...)
}

// onceStream is once for streams; a snapshot can't be resumed in the middle.
func onceStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return streamer(ctx, desc, cc, method, append(opts, grpc.WaitForReady(false), bound(nil))...)
}
