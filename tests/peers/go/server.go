package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tiphys/peer/echo"
)

const drainTime = 10 * time.Second

// waits remembers what became of each wait.
type waits struct {
	mutex  sync.Mutex
	states map[string]echo.Wait
}

func (w *waits) set(name string, state echo.Wait) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.states[name] = state
}

func (w *waits) get(name string) echo.Wait {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.states[name]
}

type server struct {
	echo.UnimplementedEchoServer
	waits waits
}

func payloadFor(request *echo.EchoRequest) []byte {
	if request.ReplySize != 0 {
		return pattern(int(request.ReplySize))
	}
	return request.Payload
}

// end answers with the error by which a message wants to end its call, if it does; it may take until the call is cancelled.
func (s *server) end(ctx context.Context, request *echo.EchoRequest) error {
	if request.Fail != nil {
		return status.Error(codes.Code(request.Fail.Code), request.Fail.Text)
	}
	if request.Wait != "" {
		s.waits.set(request.Wait, echo.Wait_WAIT_UNDER_WAY)
		<-ctx.Done()
		s.waits.set(request.Wait, echo.Wait_WAIT_CANCELLED)
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}

// echoed is the part of the request metadata that is sent back.
func echoed(ctx context.Context) metadata.MD {
	result := metadata.MD{}
	incoming, _ := metadata.FromIncomingContext(ctx)
	for key, values := range incoming {
		if strings.HasPrefix(key, "echo-") {
			result[key] = values
		}
	}
	return result
}

func (s *server) Unary(ctx context.Context, request *echo.EchoRequest) (*echo.EchoReply, error) {
	both := echoed(ctx)
	if err := errors.Join(grpc.SetHeader(ctx, both), grpc.SetTrailer(ctx, both)); err != nil {
		return nil, err
	}
	if err := s.end(ctx, request); err != nil {
		return nil, err
	}
	reply := &echo.EchoReply{Payload: payloadFor(request), Wait: s.waits.get(request.Ask)}
	if deadline, some := ctx.Deadline(); some {
		reply.TimeoutMs = uint32(time.Until(deadline).Milliseconds() + 1)
	}
	return reply, nil
}

func (s *server) Collect(stream grpc.ClientStreamingServer[echo.EchoRequest, echo.EchoReply]) error {
	both := echoed(stream.Context())
	stream.SetTrailer(both)
	if err := stream.SetHeader(both); err != nil {
		return err
	}
	reply := &echo.EchoReply{}
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(reply)
		}
		if err != nil {
			return err
		}
		if err := s.end(stream.Context(), request); err != nil {
			return err
		}
		reply.Payload = append(reply.Payload, payloadFor(request)...)
		reply.Index++
	}
}

func (s *server) Expand(request *echo.EchoRequest, stream grpc.ServerStreamingServer[echo.EchoReply]) error {
	both := echoed(stream.Context())
	stream.SetTrailer(both)
	if err := stream.SendHeader(both); err != nil {
		return err
	}
	payload := payloadFor(request)
	for index := range request.Count {
		if err := stream.Send(&echo.EchoReply{Payload: payload, Index: index}); err != nil {
			return err
		}
	}
	return s.end(stream.Context(), request)
}

func (s *server) Chat(stream grpc.BidiStreamingServer[echo.EchoRequest, echo.EchoReply]) error {
	both := echoed(stream.Context())
	stream.SetTrailer(both)
	if err := stream.SendHeader(both); err != nil {
		return err
	}
	for index := uint32(0); ; index++ {
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.end(stream.Context(), request); err != nil {
			return err
		}
		if err := stream.Send(&echo.EchoReply{Payload: payloadFor(request), Index: index}); err != nil {
			return err
		}
	}
}

func serve(o options) (int, error) {
	transport, err := o.transport()
	if err != nil {
		return 1, err
	}
	listener, err := net.Listen(o.network, o.address)
	if err != nil {
		return 1, err
	}
	host := grpc.NewServer(grpc.Creds(transport), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	echo.RegisterEchoServer(host, &server{waits: waits{states: map[string]echo.Wait{}}})

	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		time.AfterFunc(drainTime, host.Stop)
		host.GracefulStop()
	}()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Printf("listening %s:%s\n", o.network, listener.Addr())
	if err := host.Serve(listener); err != nil {
		return 1, err
	}
	return 0, nil
}
