package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Whoever may create a cluster chooses what answers at its members' port.
// These bounds times the clusters that an operator works on at once fit into
// its memory limit.
const (
	// mostAnswer bounds an answer that holds no keys: the largest honest ones are
	// lists of users.
	mostAnswer = 256 << 10
	// mostPage bounds an answer with keys, and with it the largest value that
	// can be read.
	mostPage = 8 * mebibyte
	// mostFields bounds the entries of an answer: an empty one takes two bytes
	// on the wire and a hundred in memory.
	mostFields = 10_000
	// mostHeader bounds the headers of an answer, of gRPC and of HTTP.
	mostHeader = 64 << 10
)

// rangeMethod reads keys.
const rangeMethod = "/etcdserverpb.KV/Range"

// bound is the limit of one answer to a request, or of one message of a stream.
func bound(method string) grpc.CallOption {
	if method == rangeMethod {
		return grpc.MaxCallRecvMsgSize(mostPage)
	}
	return grpc.MaxCallRecvMsgSize(mostAnswer)
}

// tooLong reports whether an answer was refused for its length.
func tooLong(err error) bool {
	return err != nil && strings.Contains(err.Error(), "larger than max")
}

var errFields = errors.New("the answer has too many entries to be that of etcd")

// counting is the codec of protobuf for messages with a bounded number of fields.
type counting struct{ encoding.CodecV2 }

func newCounting() counting { return counting{encoding.GetCodecV2(proto.Name)} }

// Unmarshal implements encoding.CodecV2.
func (c counting) Unmarshal(data mem.BufferSlice, into any) error {
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	rest := whole.ReadOnlyData()
	for fields := 0; len(rest) > 0; fields++ {
		_, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return fmt.Errorf("read the answer: %w", protowire.ParseError(n))
		}
		if fields == mostFields {
			return fmt.Errorf("%w: more than %d", errFields, mostFields)
		}
		rest = rest[n:]
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{whole}, into)
}

// once sends a request a single time and fails at once if the member can't be
// reached, with the reason. The client's own way is to wait and retry until
// the deadline, which hides the reason; here the caller observes and decides.
func once(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(false), bound(method))...)
}

// onceStream is once for streams; a snapshot can't be resumed in the middle.
func onceStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return streamer(ctx, desc, cc, method, append(opts, grpc.WaitForReady(false), bound(method))...)
}
