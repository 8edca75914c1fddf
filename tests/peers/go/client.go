package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tiphys/peer/echo"
)

const (
	shortDeadline = 500 * time.Millisecond
	pollTime      = 20 * time.Second
	pollPause     = 10 * time.Millisecond
	caseTime      = 60 * time.Second
	talkTime      = 30 * time.Second
	large         = 16 << 20
	errorText     = "größer als 5 %\n— ✓"
)

func connect(o options) (*grpc.ClientConn, error) {
	transport, err := o.transport()
	if err != nil {
		return nil, err
	}
	target := "passthrough:///" + o.address
	if o.network == "unix" {
		target = "unix:" + o.address
	}
	return grpc.NewClient(target, grpc.WithTransportCredentials(transport), grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
}

// opened is a call in any of the four kinds. A client sends, closes, and receives until the status.
type opened struct {
	stream grpc.ClientStream
}

var kinds = []string{"unary", "collect", "expand", "chat"}

// open starts a call in any of the four kinds, with the same means for all of them.
func (c *caller) open(ctx context.Context, kind string) (opened, error) {
	desc := &grpc.StreamDesc{ClientStreams: kind == "collect" || kind == "chat", ServerStreams: kind == "expand" || kind == "chat"}
	method := "/tiphys.peer.Echo/" + strings.ToUpper(kind[:1]) + kind[1:]
	stream, err := c.connection.NewStream(ctx, desc, method)
	return opened{stream}, err
}

// send ignores io.EOF: the call has ended, and receiving tells why.
func (o opened) send(requests ...*echo.EchoRequest) error {
	for _, request := range requests {
		if err := o.stream.SendMsg(request); err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

func (o opened) receive() (*echo.EchoReply, error) {
	reply := &echo.EchoReply{}
	if err := o.stream.RecvMsg(reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// rest receives until the status, which must be OK.
func (o opened) rest() ([]*echo.EchoReply, error) {
	var replies []*echo.EchoReply
	for {
		reply, err := o.receive()
		if err == io.EOF {
			return replies, nil
		}
		if err != nil {
			return replies, err
		}
		replies = append(replies, reply)
	}
}

type caller struct {
	connection *grpc.ClientConn
	stub       echo.EchoClient
}

func newCaller(connection *grpc.ClientConn) *caller {
	return &caller{connection, echo.NewEchoClient(connection)}
}

func payloads(values ...[]byte) []*echo.EchoRequest {
	var requests []*echo.EchoRequest
	for _, value := range values {
		requests = append(requests, &echo.EchoRequest{Payload: value})
	}
	return requests
}

// expect compares what is too long to be shown whole.
func expect(what string, wanted, seen any) error {
	if reflect.DeepEqual(wanted, seen) {
		return nil
	}
	return fmt.Errorf("%s: expected %.200q, saw %.200q", what, fmt.Sprint(wanted), fmt.Sprint(seen))
}

func expectPayload(what string, wanted []byte, reply *echo.EchoReply) error {
	if bytes.Equal(wanted, reply.Payload) {
		return nil
	}
	return fmt.Errorf("%s: expected a payload of %d bytes, saw other %d bytes", what, len(wanted), len(reply.Payload))
}

func expectReplies(what string, wanted [][]byte, replies []*echo.EchoReply) error {
	if len(wanted) != len(replies) {
		return fmt.Errorf("%s: expected %d replies, saw %d", what, len(wanted), len(replies))
	}
	for i, reply := range replies {
		name := fmt.Sprintf("%s, reply %d", what, i)
		if err := errors.Join(expect(name+", index", uint32(i), reply.Index), expectPayload(name, wanted[i], reply)); err != nil {
			return err
		}
	}
	return nil
}

func expectCode(what string, wanted codes.Code, err error) error {
	return expect(what+", status", wanted, status.Code(err))
}

// --- basic ---

func (c *caller) unaryBasic(ctx context.Context) error {
	check := func(request *echo.EchoRequest, wanted []byte) error {
		reply, err := c.stub.Unary(ctx, request)
		if err != nil {
			return err
		}
		return expectPayload(fmt.Sprintf("request %.50v", request), wanted, reply)
	}
	if err := check(&echo.EchoRequest{Payload: []byte("hello")}, []byte("hello")); err != nil {
		return err
	}
	if err := check(&echo.EchoRequest{}, nil); err != nil {
		return err
	}
	if err := check(&echo.EchoRequest{ReplySize: 1000}, pattern(1000)); err != nil {
		return err
	}
	for i := range 100 {
		text := []byte(strconv.Itoa(i))
		if err := check(&echo.EchoRequest{Payload: text}, text); err != nil {
			return err
		}
	}
	return nil
}

func (c *caller) collectBasic(ctx context.Context) error {
	check := func(sent ...[]byte) error {
		stream, err := c.stub.Collect(ctx)
		if err != nil {
			return err
		}
		for _, request := range payloads(sent...) {
			if err := stream.Send(request); err != nil {
				return err
			}
		}
		reply, err := stream.CloseAndRecv()
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%d messages", len(sent))
		return errors.Join(expect(what+", index", uint32(len(sent)), reply.Index),
			expectPayload(what, bytes.Join(sent, nil), reply))
	}
	many := make([][]byte, 1000)
	for i := range many {
		many[i] = pattern(100)
	}
	for _, sent := range [][][]byte{{}, {[]byte("a"), {}, []byte("b")}, many} {
		if err := check(sent...); err != nil {
			return err
		}
	}
	return nil
}

func (c *caller) expandBasic(ctx context.Context) error {
	check := func(request *echo.EchoRequest, wanted []byte) error {
		stream, err := c.stub.Expand(ctx, request)
		if err != nil {
			return err
		}
		replies, err := opened{stream}.rest()
		if err != nil {
			return err
		}
		all := make([][]byte, request.Count)
		for i := range all {
			all[i] = wanted
		}
		return expectReplies(fmt.Sprintf("request %v", request), all, replies)
	}
	if err := check(&echo.EchoRequest{}, nil); err != nil {
		return err
	}
	if err := check(&echo.EchoRequest{Count: 3, ReplySize: 1000}, pattern(1000)); err != nil {
		return err
	}
	return check(&echo.EchoRequest{Count: 1000, Payload: []byte("x")}, []byte("x"))
}

func (c *caller) chatBasic(ctx context.Context) error {
	silent, err := c.stub.Chat(ctx)
	if err != nil {
		return err
	}
	silent.CloseSend()
	replies, err := opened{silent}.rest()
	if err != nil {
		return err
	}
	if err := expectReplies("half-close at once", nil, replies); err != nil {
		return err
	}

	polite, err := c.stub.Chat(ctx)
	if err != nil {
		return err
	}
	for i := range 100 {
		text := []byte(strconv.Itoa(i))
		if i == 99 {
			text = nil
		}
		if err := polite.Send(&echo.EchoRequest{Payload: text}); err != nil {
			return err
		}
		reply, err := polite.Recv()
		if err != nil {
			return err
		}
		what := fmt.Sprintf("message %d", i)
		if err := errors.Join(expect(what+", index", uint32(i), reply.Index), expectPayload(what, text, reply)); err != nil {
			return err
		}
	}
	polite.CloseSend()
	replies, err = opened{polite}.rest()
	if err != nil {
		return err
	}
	if err := expectReplies("after the half-close", nil, replies); err != nil {
		return err
	}

	hasty, err := c.stub.Chat(ctx)
	if err != nil {
		return err
	}
	wanted := make([][]byte, 1000)
	for i := range wanted {
		wanted[i] = pattern(1000)
	}
	go func() {
		opened{hasty}.send(payloads(wanted...)...)
		hasty.CloseSend()
	}()
	replies, err = opened{hasty}.rest()
	if err != nil {
		return err
	}
	return expectReplies("messages without waiting", wanted, replies)
}

// --- deadline, cancel ---

// poll asks until a wait has come to a state.
func (c *caller) poll(ctx context.Context, name string, wanted echo.Wait) error {
	limit := time.Now().Add(pollTime)
	for {
		reply, err := c.stub.Unary(ctx, &echo.EchoRequest{Ask: name})
		if err != nil {
			return err
		}
		if reply.Wait == wanted {
			return nil
		}
		if time.Now().After(limit) {
			return expect("the server's view of the wait", wanted, reply.Wait)
		}
		time.Sleep(pollPause)
	}
}

func freshName() string {
	return fmt.Sprintf("go-%d-%x", os.Getpid(), rand.Uint64())
}

// beginWait starts a call of some kind that waits, with three messages before.
func (c *caller) beginWait(ctx context.Context, kind, name string) (opened, error) {
	o, err := c.open(ctx, kind)
	if err != nil {
		return o, err
	}
	wait := &echo.EchoRequest{Wait: name}
	before := payloads([]byte("0"), []byte("1"), []byte("2"))
	switch kind {
	case "unary":
		return o, o.send(wait)
	case "collect":
		return o, o.send(append(before, wait)...)
	case "expand":
		wait.Count = 3
		if err := errors.Join(o.send(wait), o.stream.CloseSend()); err != nil {
			return o, err
		}
	case "chat":
		if err := o.send(before...); err != nil {
			return o, err
		}
	}
	for range 3 {
		if _, err := o.receive(); err != nil {
			return o, err
		}
	}
	if kind == "chat" {
		err = o.send(wait)
	}
	return o, err
}

func (c *caller) deadline(ctx context.Context, kind string) error {
	if kind == "unary" {
		without, err := c.stub.Unary(context.Background(), &echo.EchoRequest{})
		if err != nil {
			return err
		}
		if err := expect("timeout_ms without a deadline", uint32(0), without.TimeoutMs); err != nil {
			return err
		}
		minute, release := context.WithTimeout(context.Background(), time.Minute)
		defer release()
		with, err := c.stub.Unary(minute, &echo.EchoRequest{})
		if err != nil {
			return err
		}
		if with.TimeoutMs < 1 || with.TimeoutMs > 61_000 {
			return fmt.Errorf("timeout_ms with a deadline of 60 s: expected 1 to 61000, saw %d", with.TimeoutMs)
		}
	}
	name := freshName()
	short, release := context.WithTimeout(ctx, shortDeadline)
	defer release()
	o, err := c.beginWait(short, kind, name)
	if err == nil {
		_, err = o.receive()
	}
	if err := expectCode("after the deadline", codes.DeadlineExceeded, err); err != nil {
		return err
	}
	return c.poll(ctx, name, echo.Wait_WAIT_CANCELLED)
}

func (c *caller) cancel(ctx context.Context, kind string) error {
	name := freshName()
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	o, err := c.beginWait(cancellable, kind, name)
	if err != nil {
		return err
	}
	if err := c.poll(ctx, name, echo.Wait_WAIT_UNDER_WAY); err != nil {
		return err
	}
	cancel()
	_, err = o.receive()
	if err := expectCode("after the cancellation", codes.Canceled, err); err != nil {
		return err
	}
	return c.poll(ctx, name, echo.Wait_WAIT_CANCELLED)
}

// --- large ---

func (c *caller) large(ctx context.Context, kind string) error {
	big := pattern(large)
	o, err := c.open(ctx, kind)
	if err != nil {
		return err
	}
	request := &echo.EchoRequest{Payload: big}
	wanted, index := big, uint32(0)
	switch kind {
	case "collect":
		if err := o.send(request); err != nil {
			return err
		}
		request = &echo.EchoRequest{Payload: []byte("x")}
		wanted, index = append(pattern(large), 'x'), 2
	case "expand":
		request.Count = 2
	}
	if err := o.send(request); err != nil {
		return err
	}
	if kind != "chat" {
		o.stream.CloseSend()
	}
	reply, err := o.receive()
	if err != nil {
		return err
	}
	if err := errors.Join(expect("index", index, reply.Index), expectPayload("reply", wanted, reply)); err != nil {
		return err
	}
	if kind == "chat" {
		if err := errors.Join(o.send(request), o.stream.CloseSend()); err != nil {
			return err
		}
	}
	if kind == "chat" || kind == "expand" {
		second, err := o.receive()
		if err != nil {
			return err
		}
		if err := errors.Join(expect("index", uint32(1), second.Index), expectPayload("second reply", wanted, second)); err != nil {
			return err
		}
	}
	replies, err := o.rest()
	if err != nil {
		return err
	}
	return expectReplies("at the end", nil, replies)
}

// --- metadata, error ---

func (c *caller) metadata(ctx context.Context, kind string) error {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	sent := metadata.MD{"echo-text": {"first", "second value"}, "echo-data-bin": {string(all), "two"}}
	o, err := c.open(metadata.NewOutgoingContext(ctx, sent), kind)
	if err != nil {
		return err
	}
	begin := func() error {
		return errors.Join(o.send(&echo.EchoRequest{Payload: []byte("x"), Count: 1}), o.stream.CloseSend())
	}
	if kind != "chat" {
		if err := begin(); err != nil {
			return err
		}
	}
	initial, err := o.stream.Header()
	if err != nil {
		return err
	}
	if kind == "chat" {
		if err := begin(); err != nil {
			return err
		}
	}
	replies, err := o.rest()
	if err != nil {
		return err
	}
	if err := expect("number of replies", 1, len(replies)); err != nil {
		return err
	}
	for key, values := range sent {
		if err := errors.Join(expect("initial "+key, values, initial[key]),
			expect("trailing "+key, values, o.stream.Trailer()[key])); err != nil {
			return err
		}
	}
	return nil
}

func (c *caller) failure(ctx context.Context, kind string, code codes.Code) error {
	o, err := c.open(metadata.AppendToOutgoingContext(ctx, "echo-text", "why"), kind)
	if err != nil {
		return err
	}
	fail := &echo.EchoRequest{Fail: &echo.Failure{Code: uint32(code), Text: errorText}}
	before := payloads([]byte("0"), []byte("1"), []byte("2"))
	received := 0
	switch kind {
	case "unary":
		err = o.send(fail)
	case "collect":
		err = o.send(append(before, fail)...)
	case "expand":
		fail.Count = 3
		received = 3
		err = errors.Join(o.send(fail), o.stream.CloseSend())
	case "chat":
		received = 3
		err = o.send(append(before, fail)...)
	}
	if err != nil {
		return err
	}
	replies, err := o.rest()
	seen, _ := status.FromError(err)
	return errors.Join(expect("number of replies", received, len(replies)), expect("status", code, seen.Code()),
		expect("text", errorText, seen.Message()), expect("trailing echo-text", []string{"why"}, o.stream.Trailer()["echo-text"]))
}

func (c *caller) failures(ctx context.Context, kind string) error {
	if kind != "unary" {
		return c.failure(ctx, kind, codes.FailedPrecondition)
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		if err := c.failure(ctx, kind, code); err != nil {
			return fmt.Errorf("code %d: %w", code, err)
		}
	}
	return nil
}

// --- commands ---

func (c *caller) basic(ctx context.Context, kind string) error {
	return map[string]func(context.Context) error{
		"unary": c.unaryBasic, "collect": c.collectBasic, "expand": c.expandBasic, "chat": c.chatBasic,
	}[kind](ctx)
}

var table = []struct {
	name string
	run  func(c *caller, ctx context.Context, kind string) error
}{
	{"basic", (*caller).basic}, {"deadline", (*caller).deadline}, {"cancel", (*caller).cancel},
	{"large", (*caller).large}, {"metadata", (*caller).metadata}, {"error", (*caller).failures},
}

func caseNames() []string {
	var names []string
	for _, kind := range kinds {
		for _, what := range table {
			names = append(names, kind+"-"+what.name)
		}
	}
	return names
}

func (c *caller) runCase(name string) error {
	ctx, release := context.WithTimeout(context.Background(), caseTime)
	defer release()
	kind, rest, _ := strings.Cut(name, "-")
	for _, what := range table {
		if what.name == rest {
			return what.run(c, ctx, kind)
		}
	}
	return errors.New("there is no such case")
}

func call(o options) (int, error) {
	for _, name := range o.rest {
		if !slices.Contains(caseNames(), name) {
			return 2, fmt.Errorf("unknown case '%s': go-peer cases lists them", name)
		}
	}
	connection, err := connect(o)
	if err != nil {
		return 1, err
	}
	defer connection.Close()
	code := 0
	for _, name := range o.rest {
		if err := newCaller(connection).runCase(name); err != nil {
			fmt.Printf("failed %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
			code = 1
		} else {
			fmt.Println("ok", name)
		}
	}
	return code, nil
}

// statusNames are as gRPC spells them; grpc-go has its own spelling.
var statusNames = []string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
	"DATA_LOSS", "UNAUTHENTICATED",
}

func (c *caller) say(words []string) error {
	ctx, release := context.WithTimeout(context.Background(), talkTime)
	defer release()
	kind, request := "expand", &echo.EchoRequest{Wait: freshName()}
	if words[0] != "wait" {
		size, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		kind, request = words[0], &echo.EchoRequest{Payload: pattern(size), Count: 1}
	}
	o, err := c.open(ctx, kind)
	if err != nil {
		return err
	}
	if err := errors.Join(o.send(request), o.stream.CloseSend()); err != nil {
		return err
	}
	_, err = o.rest()
	return err
}

func talk(o options) (int, error) {
	connection, err := connect(o)
	if err != nil {
		return 1, err
	}
	defer connection.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if !(len(words) == 1 && words[0] == "wait") && !(len(words) == 2 && slices.Contains(kinds, words[0])) {
			return 2, fmt.Errorf("'%s': expected wait, or a kind of call and a size", lines.Text())
		}
		seen, _ := status.FromError(newCaller(connection).say(words))
		fmt.Println(statusNames[seen.Code()], strings.ReplaceAll(seen.Message(), "\n", " "))
	}
	if err := lines.Err(); err != nil {
		return 1, err
	}
	return 0, nil
}
