package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

const (
	// answersFile is on a volume of the pod's own.
	answersFile = "/answers/answers.jsonl"
	unfinished  = answersFile + ".new"
	askers      = 4
	// pause keeps one node's disk and processors from being all that is tested.
	pause = 5 * time.Millisecond
)

// A got is what became of one call.
type got struct {
	CallID   string              `json:"callId"`
	Decision decisionv1.Decision `json:"decision,omitempty"`
	Code     string              `json:"code,omitempty"`
	Audit    *decisionv1.Receipt `json:"audit,omitempty"`
	Error    bool                `json:"error,omitempty"` // no answer: the agent takes that for a Deny
}

// load asks for a while, and then waits until it is told to end. It gives no call a second try, so that what it writes
// is all that an agent saw.
func load(ctx context.Context, duration string) error {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return fmt.Errorf("how long: %w", err)
	}
	client, err := decisionv1.New(os.Getenv("HOOKPOLICY_URL"), decisionv1.Options{TokenFile: tokenFile, CAFile: caFile, Timeout: 5 * time.Second})
	if err != nil {
		return err
	}
	file, err := os.Create(unfinished)
	if err != nil {
		return err
	}
	ended := ctx
	ctx, stop := context.WithTimeout(ctx, d)
	defer stop()
	all := make(chan got, askers)
	var wg sync.WaitGroup
	for i := range askers {
		wg.Go(func() { askOn(ctx, client, i, all) })
	}
	go func() { wg.Wait(); close(all) }()
	buffered := bufio.NewWriter(file)
	lines := json.NewEncoder(buffered)
	for g := range all {
		err = errors.Join(err, lines.Encode(g))
	}
	if err := errors.Join(err, buffered.Flush(), file.Close(), os.Rename(unfinished, answersFile)); err != nil {
		return err
	}
	<-ended.Done() // so that somebody can ask for the answers
	return nil
}

func askOn(ctx context.Context, client *decisionv1.Client, asker int, all chan<- got) {
	texts := []string{"SELECT 1", "SELECT count(*) FROM orders", "DROP DATABASE customers", "INSERT INTO log VALUES (1)"}
	for n := 0; ctx.Err() == nil; n++ {
		g := got{CallID: fmt.Sprintf("load-%d-%d", asker, n)}
		args, err := json.Marshal(map[string]string{"sql": texts[n%len(texts)]})
		if err != nil {
			return
		}
		resp, err := client.Decide(context.WithoutCancel(ctx), decisionv1.Request{CallID: g.CallID, Tool: "db_query_sql", Args: args})
		g.Error = err != nil
		if resp != nil {
			g.Decision, g.Audit = resp.Decision, resp.Audit
			if resp.Reason != nil {
				g.Code = resp.Reason.Code
			}
		}
		all <- g
		time.Sleep(pause)
	}
}

// answers hands the file out.
func answers(out io.Writer) error {
	file, err := os.Open(answersFile)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(out, file)
	return err
}
