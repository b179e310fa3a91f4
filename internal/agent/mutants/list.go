package mutants

// Mutant is one fault: in File, Old stands exactly once and is replaced with New.
type Mutant struct {
	Name string
	File string
	Old  string
	New  string
}

// List is every fault that the tests must notice.
var List = []Mutant{
	{
		Name: "duplicate result of a child counts twice", File: "child.go",
		Old: "s.Children = emptyToNil(slices.DeleteFunc(s.Children, func(o *Child) bool { return o.ID == c.ID }))",
		New: "_ = c.ID",
	},
	{
		Name: "lost wake-up: the timer is not set again", File: "step.go",
		Old: "next.Wake = m.wake()", New: "next.Wake = max(s.Wake, 0)",
	},
	{
		Name: "lost wake-up: queued children are not launched when a place is free", File: "step.go",
		Old: "\t\tm.launch()\n", New: "\t\tif len(s.Children) < 2 {\n\t\t\tm.launch()\n\t\t}\n",
	},
	{
		Name: "cancel forgets the queued child", File: "stop.go",
		Old: "queued = append(queued, *c)", New: "_ = queued",
	},
	{
		Name: "grace turn skipped", File: "turn.go",
		Old: "if s.orchestrator() || s.Progress.Grace != nil || !m.affordsGrace() {",
		New: "if s.orchestrator() || s.Progress.Grace == nil || !m.affordsGrace() {",
	},
	{
		Name: "lease not returned", File: "lease.go",
		Old: "l.Held -= held", New: "_ = held",
	},
	{
		Name: "usage not charged", File: "lease.go",
		Old: "l.Spent += used", New: "_ = used",
	},
	{
		Name: "reports in order of arrival, not of the call", File: "spawn.go",
		Old: "settle.Tasks = append(settle.Tasks, s.taskID(task))",
		New: "settle.Tasks = append([]string{s.taskID(task)}, settle.Tasks...)",
	},
	{
		Name: "cancel leaves tool_use without result", File: "stop.go",
		Old: "\t\tm.closeRound(nil)\n", New: "\t\ts.Round = nil\n",
	},
	{
		Name: "a later reason taints the error kind", File: "stop.go",
		Old: "s.Stop.All, s.Stop.Until = true, until",
		New: "s.Stop.All, s.Stop.Until, s.Stop.Kind = true, until, st.Kind",
	},
	{
		Name: "a message is taken in twice", File: "inbox.go",
		Old: "case !s.orchestrator():\n\t\treturn m.refuse(Invalid, \"people talk to the orchestrator only\")\n\tcase e.Seq <= s.Inbox.Heard:",
		New: "case !s.orchestrator():\n\t\treturn m.refuse(Invalid, \"people talk to the orchestrator only\")\n\tcase e.Seq < s.Inbox.Heard:",
	},
	{
		Name: "a gap between messages goes unnoticed", File: "inbox.go",
		Old: "case e.Seq != s.Inbox.Heard+1:", New: "case e.Seq < s.Inbox.Heard+1:",
	},
	{
		Name: "approval counts for another version of the call", File: "approval.go",
		Old: "case c.shown() != e.Hash:", New: "case c.shown() != e.Hash && !e.Allow:",
	},
	{
		Name: "a yes after its time counts", File: "approval.go",
		Old: "case e.Allow && c.Bound != \"\" && c.Until <= m.now:", New: "case e.Allow && c.Bound != \"\" && c.Until < 0:",
	},
	{
		Name: "what was approved is not carried on", File: "round.go",
		Old: "Approved: c.Approved, Bound: c.Bound, By: c.By, Edited: c.edited(),", New: "Approved: c.Approved, Edited: c.edited(),",
	},
	{
		Name: "a call stopped at the last moment runs all the same", File: "round.go",
		Old: "case ToolDenied:\n\t\tm.toolDenied(c, e.Reason)", New: "case ToolDenied:\n\t\tc.Status = CallCompleted",
	},
	{
		Name: "a call runs with the model's arguments although the person changed them", File: "round.go",
		Old: "By: c.By, Edited: c.edited(),", New: "By: c.By,",
	},
	{
		Name: "arguments that the rules deny are allowed by a person", File: "edit.go",
		Old: "case edited.Policy == PolicyDeny:", New: "case false:",
	},
	{
		Name: "a person's arguments are not held against the role", File: "edit.go",
		Old: "return m.objection(edited)", New: "return \"\"",
	},
	{
		Name: "other arguments are allowed for the task", File: "edit.go",
		Old: "case e.Scope != \"\" && e.Scope != ScopeOnce:", New: "case false:",
	},
	{
		Name: "other arguments keep the hash of the model's", File: "edit.go",
		Old: "c.Shown, c.Hash, c.Bound = c.shown(), e.Edited.Hash, e.Edited.Bound", New: "c.Shown = c.shown()",
	},
	{
		Name: "a person's arguments are no repetition", File: "edit.go",
		Old: "if m.repeated(*e.Edited) {", New: "if false {",
	},
	{
		Name: "the same arguments again are a conflict", File: "edit.go",
		Old: "return c.Approved && c.edited() && c.Hash == e.Edited.Hash", New: "return false",
	},
	{
		Name: "another edit of a decided call is a duplicate", File: "edit.go",
		Old: "return c.Approved && c.edited() && c.Hash == e.Edited.Hash", New: "return c.Approved && c.edited()",
	},
	{
		Name: "the model is not told of other arguments when its call comes to nothing", File: "round.go",
		Old: "e.Status, 0, c.ID, c.edited()", New: "e.Status, 0, c.ID, false",
	},
	{
		Name: "approval without asking when nobody is there", File: "approval.go",
		Old: "if m.s.Brief.Headless {\n\t\tm.deny(open, DeniedHeadless)\n\t\treturn", New: "if m.s.Brief.Headless {\n\t\treturn",
	},
	{
		Name: "authority widens on the way down", File: "spawn.go",
		Old: "Authority: b.Authority.Meet(spec.Authority),", New: "Authority: spec.Authority,",
	},
	{
		Name: "one level too deep", File: "round.go",
		Old: "case c.Kind.spawns() && b.Depth+1 > b.Limits.Depth:", New: "case c.Kind.spawns() && b.Depth > b.Limits.Depth:",
	},
	{
		Name: "launches are not fenced by a cancel", File: "child.go",
		Old: "if s.Phase == Stopping || s.Phase == Done || s.Closing {", New: "if s.Phase == Done || s.Closing {",
	},
	{
		Name: "the clock runs while a person is awaited", File: "clock.go",
		Old: "return s.toolRunning() || s.childAtWork()", New: "return true",
	},
	{
		Name: "submit beside other calls is taken the first time", File: "completion.go",
		Old: "if m.s.Progress.Mixed++; m.s.Progress.Mixed == 1 {", New: "if m.s.Progress.Mixed++; m.s.Progress.Mixed == 0 {",
	},
	{
		Name: "nudged for ever", File: "turn.go",
		Old: "case (!s.Brief.Immediate || s.Brief.Shaped) && !s.Progress.Nudged:", New: "case !s.Brief.Immediate || s.Brief.Shaped:",
	},
	{
		Name: "writes of one round run together", File: "round.go",
		Old: "!writes && (!c.Writes || !earlier)", New: "(!c.Writes || !earlier || writes)",
	},
	{
		Name: "model calls are retried for ever", File: "turn.go",
		Old: "case e.Kind.Retryable() && c.Attempt < s.Brief.Limits.Retries:", New: "case e.Kind.Retryable():",
	},
	{
		Name: "one iteration too many", File: "turn.go",
		Old: "case s.Progress.Iterations >= s.Brief.Limits.Iterations:", New: "case s.Progress.Iterations > s.Brief.Limits.Iterations:",
	},
	{
		Name: "the orchestrator answers although it is not sure", File: "ladder.go",
		Old: "case e.Answered && e.Confidence >= sureEnough:", New: "case e.Answered:",
	},
	{
		Name: "the second answer counts too", File: "ladder.go",
		Old: "s.Questions = emptyToNil(slices.DeleteFunc(s.Questions, func(o Question) bool { return o.ID == q.ID }))",
		New: "_ = q.ID",
	},
	{
		Name: "a question is not withdrawn on cancel", File: "stop.go",
		Old: "m.order(WithdrawQuestion{Question: m.questionID(c)})", New: "_ = m.questionID(c)",
	},
	{
		Name: "loops are never stopped", File: "round.go",
		Old: "return n >= repeatStop", New: "return false",
	},
	{
		Name: "budget is not checked before the call", File: "lease.go",
		Old: "if !s.Tokens.affords(tokens) || !s.Cost.affords(cost) {", New: "if !s.Tokens.affords(tokens) && !s.Cost.affords(cost) {",
	},
	{
		Name: "act first, record later", File: "step.go",
		Old: "append(m.records, m.orders...)", New: "append(m.orders, m.records...)",
	},
	{
		Name: "the end of a turn takes background children with it", File: "stop.go",
		Old: "return s.Stop.All || !c.Background", New: "return s.Stop.All || c.Background || !c.Background",
	},
	{
		Name: "forced stop forgets the children", File: "stop.go",
		Old: "lost = append(lost, s.Children[i].ID)", New: "_ = lost",
	},
	{
		Name: "one bad task does not stop the call", File: "spawn.go",
		Old: "if len(problems) > 0 {", New: "if len(problems) == len(c.Items) {",
	},
	{
		Name: "the end of a background task is not told", File: "child.go",
		Old: "if c.Background && c.Waiters == 0 {", New: "if c.Background && c.Waiters > 0 {",
	},
	{
		Name: "a reply that nobody waited for stays in the transcript", File: "stop.go",
		Old: "m.record(Void{Turn: c.Turn})", New: "_ = Void{}",
	},
	{
		Name: "a step changes the state it was given", File: "state.go",
		Old: "s.Children = slices.Clone(s.Children)", New: "s.Children = s.Children[:len(s.Children):len(s.Children)]",
	},
	{
		Name: "approvals never expire", File: "approval.go",
		Old: "if c.Until == 0 || c.Until > m.now || m.s.Phase != Working {",
		New: "if c.Until == 0 || c.Until > m.now || c.Status == CallWants {",
	},
	{
		Name: "a child's cancellation starts a new turn", File: "stop.go",
		Old: "s.Muted = s.Muted || st.All", New: "s.Muted = s.Muted && st.All",
	},
	{
		Name: "the same cancel request counts twice", File: "stop.go",
		Old: "case slices.Contains(s.Cancelled, e.ID):", New: "case slices.Contains(s.Cancelled, e.ID) && s.Stop == nil:",
	},
	{
		Name: "empty result counts as success", File: "turn.go",
		Old: "if len(e.Calls) == 0 && !e.Text && e.Stop != StopRefusal {", New: "if len(e.Calls) == 0 && !e.Text && s.orchestrator() {",
	},
	{
		Name: "a child gets more time than its parent has", File: "child.go",
		Old: "time = max(1, min(time, s.Brief.Limits.Time-m.elapsed()))", New: "time = max(1, time)",
	},
	{
		Name: "identical task is started again", File: "spawn.go",
		Old: "if hash != \"\" && r.Hash == hash &&", New: "if hash == \"\" && r.Hash == hash &&",
	},
	{
		Name: "an earlier answer serves any question", File: "ladder.go",
		Old: "if a.Hash == q.Hash && a.By != ByNobody", New: "if a.By != ByNobody",
	},
	{
		Name: "side turns are not charged", File: "ladder.go",
		Old: "s.Tokens.settle(side.HoldTokens, used.Tokens())", New: "s.Tokens.settle(side.HoldTokens, 0)",
	},
	{
		Name: "a tick gives up children that still have time", File: "clock.go",
		Old: "c.Until != 0 && c.Until <= m.now", New: "c.Until != 0",
	},
	{
		Name: "the grace of one child ends everybody's", File: "clock.go",
		Old: "if s.Stop != nil && s.Stop.Until <= m.now {", New: "if s.Stop != nil {",
	},
	{
		Name: "a child that was given up has cost nothing", File: "child.go",
		Old: "settlement{agents: 1 + c.Agents, tokens: c.Tokens, cost: c.Cost}",
		New: "settlement{agents: 1 + c.Agents, tokens: c.Tokens}",
	},
	{
		Name: "reads overtake a write", File: "round.go",
		Old: "writes = writes || c.Writes", New: "writes = c.Writes",
	},
	{
		Name: "a person's wish to stop is lost when no child is open", File: "stop.go",
		Old: "if m.s.Phase == Idle && len(m.s.Children) == 0 {", New: "if len(m.s.Children) == 0 {",
	},
	{
		Name: "a call that was never reached ends another call's child", File: "stop.go",
		Old: "c != nil && callOf(short) == call.ID", New: "c != nil",
	},
	{
		Name: "a correction shown in the last step is swallowed", File: "outcome.go",
		Old: "unread := slices.Clone(m.s.Inbox.Shown)", New: "unread := slices.Clone(m.s.Inbox.Shown[:0])",
	},
	{
		Name: "a result without evidence is accepted where it is required", File: "completion.go",
		Old: "return m.s.Brief.Evidence && m.s.Progress.Evidence == 0", New: "return m.s.Brief.Evidence && m.s.Progress.Evidence < 0",
	},
	{
		Name: "what sub-agents did is no evidence", File: "child.go",
		Old: "m.s.Progress.Evidence += e.Outcome.Evidence", New: "_ = e.Outcome.Evidence",
	},
	{
		Name: "a second result without evidence is sent back for ever", File: "completion.go",
		Old: "if m.unproven() && s.Progress.Challenged {", New: "if m.unproven() && s.Progress.Repaired {",
	},
	{
		Name: "a contradicted result is sent back for ever", File: "completion.go",
		Old: "case s.Progress.Challenged || c.Contradicted == 0:", New: "case c.Contradicted == 0:",
	},
	{
		Name: "contradicted claims fail roles that need not show evidence", File: "completion.go",
		Old: "case c.Kind != CallSubmit || !s.Brief.Evidence:", New: "case c.Kind != CallSubmit:",
	},
	{
		Name: "the grace turn takes a result without evidence", File: "completion.go",
		Old: "unproven := calls[i].Kind == CallSubmit && m.unproven()", New: "unproven := false",
	},
	{
		Name: "plain text needs no evidence", File: "turn.go",
		Old: "\tcase m.unproven():\n", New: "\tcase m.unproven() && s.Brief.Immediate:\n",
	},
	{
		Name: "plain text counts as a result that must fit a schema", File: "turn.go",
		Old: "\tcase s.Brief.Shaped:\n", New: "\tcase s.Brief.Shaped && s.Brief.Immediate:\n",
	},
	{
		Name: "a file that nobody touched counts as changed", File: "receipt/files.go",
		Old: "f := Finding{Kind: kind, Claim: name, Verdict: Contradicted, Reason: reasonUntouched}",
		New: "f := Finding{Kind: kind, Claim: name, Verdict: Verified, Reason: reasonUntouched}",
	},
	{
		Name: "a change that was taken back counts", File: "receipt/files.go",
		Old: "case !c.differs():", New: "case !c.differs() && c.First == c.Last:",
	},
	{
		Name: "what nobody saw is taken for a lie", File: "receipt/evidence.go",
		Old: "return !e.Partial && e.Perhaps == 0", New: "return !e.Partial",
	},
	{
		Name: "tests that were run before the last change count", File: "receipt/tests.go",
		Old: "case t.last.At < e.lastChange():", New: "case t.last.At < 0:",
	},
	{
		Name: "a failed test command counts", File: "receipt/tests.go",
		Old: "case c.all() && t.last.failed():", New: "case c.all() && t.last.Signal != \"\":",
	},
	{
		Name: "one bad claim among good ones goes unnoticed", File: "receipt/receipt.go",
		Old: "r.Verdict = r.Verdict.Worse(f.Verdict)", New: "r.Verdict = f.Verdict",
	},
	{
		Name: "a child leaves its parent's tree", File: "spawn.go",
		Old: "	child.Tree = b.Tree\n", New: "",
	},
	{
		Name: "a call lets a role out of its own tree", File: "spawn.go",
		Old: "case it.Isolation == IsolationShared && spec.Isolation == IsolationWorktree:", New: "case false:",
	},
	{
		Name: "a tree below a tree is copied from the workspace", File: "spawn.go",
		Old: "child.Tree, child.From = task, b.Tree", New: "child.Tree, child.From = task, \"\"",
	},
	{
		Name: "merging is offered to those who may not write", File: "offer.go",
		Old: "if b.Authority.Write {", New: "if b.CanDelegate {",
	},
	{
		Name: "taint dropped at spawn", File: "spawn.go",
		Old: "brief.Taint = s.Taint.With(it.Taint)", New: "brief.Taint = it.Taint",
	},
	{
		Name: "taint of a resumed agent dropped", File: "spawn.go",
		Old: "brief.Taint = s.Taint.With(it.Taint)", New: "brief.Taint = s.Taint",
	},
	{
		Name: "taint dropped at the beginning", File: "step.go",
		Old: "s.Taint, s.Brief.Taint = s.Taint.With(e.Brief.Taint), nil", New: "s.Brief.Taint = nil",
	},
	{
		Name: "taint dropped at report", File: "child.go",
		Old: "m.taint(e.Outcome.Reported())", New: "_ = e.Outcome.Reported()",
	},
	{
		Name: "taint dropped from the outcome", File: "outcome.go",
		Old: "o.Taint = s.Taint", New: "o.Taint = nil",
	},
	{
		Name: "taint comes with a typed report", File: "taint.go",
		Old: "if o.Typed {", New: "if false {",
	},
	{
		Name: "taint of every report taken for typed", File: "completion.go",
		Old: "Typed: calls[i].Typed", New: "Typed: true",
	},
	{
		Name: "taint dropped at compaction", File: "turn.go",
		Old: "s.Context = e.Context", New: "s.Context, s.Taint = e.Context, nil",
	},
	{
		Name: "taint dropped with a person's next message", File: "inbox.go",
		Old: "s.Progress = Progress{Last: s.Progress.Last}", New: "s.Progress, s.Taint = Progress{Last: s.Progress.Last}, nil",
	},
	{
		Name: "taint dropped from an answer", File: "ladder.go",
		Old: "r.Taint = s.Taint", New: "r.Taint = nil",
	},
	{
		Name: "taint of an answer not taken on", File: "ask.go",
		Old: "m.taint(e.Taint)", New: "_ = e.Taint",
	},
	{
		Name: "taint of a result not taken on", File: "round.go",
		Old: "m.taint(e.Taint)", New: "_ = e.Taint",
	},
	{
		Name: "taint that the journal knows not taken on", File: "turn.go",
		Old: "m.taint(e.Taint)", New: "_ = e.Taint",
	},
	{
		Name: "taint: sources replaced instead of added", File: "taint.go",
		Old: "m.s.Taint = m.s.Taint.With(t)", New: "m.s.Taint = Taint{}.With(t)",
	},
	{
		Name: "taint: a rule applies to a tainted call", File: "taint.go",
		Old: "c.Approved && cover == CoverNone {", New: "cover == CoverNone {",
	},
	{
		Name: "taint: a grant applies to a tainted call", File: "taint.go",
		Old: "c.Approved && cover == CoverNone {", New: "c.Approved {",
	},
	{
		Name: "taint: the approval of another call that waits applies", File: "approval.go",
		Old: " && !m.barred(other)", New: "",
	},
	{
		Name: "taint: a tainted call can be allowed for the task", File: "approval.go",
		Old: "open.Pattern, ask.Pattern, ask.Taint = \"\", \"\", m.s.Taint", New: "ask.Taint = m.s.Taint",
	},
	{
		Name: "taint: what was let through before runs", File: "round.go",
		Old: "if !m.stillGood(c) {", New: "if false {",
	},
	{
		Name: "taint: what another call's approval let through before runs", File: "approval.go",
		Old: "\t\t\tother.Cover = CoverBeside\n", New: "",
	},
	{
		Name: "taint: requests are not barred", File: "taint.go",
		Old: "(c.Writes || c.Network) && !c.Sink", New: "c.Writes && !c.Sink",
	},
	{
		Name: "taint: writes are not barred", File: "taint.go",
		Old: "(c.Writes || c.Network) && !c.Sink", New: "c.Network && !c.Sink",
	},
	{
		Name: "taint: what the operator listed is asked about", File: "taint.go",
		Old: "(c.Writes || c.Network) && !c.Sink", New: "(c.Writes || c.Network)",
	},
	{
		Name: "taint: the person is not told", File: "approval.go",
		Old: "ask.Pattern, ask.Taint = \"\", \"\", m.s.Taint", New: "ask.Pattern = \"\", \"\"",
	},
	{
		Name: "authorise: no decision on record", File: "authorise.go",
		Old: "!a.Allowed, a.Task", New: "a.Task",
	},
	{
		Name: "authorise: a closed approval counts for another task", File: "authorise.go",
		Old: "&& a.ClosedTask == task", New: "&& task != \"\"",
	},
	{
		Name: "authorise: the core closed it before the person decided", File: "authorise.go",
		Old: "return a.Heard && a.Status", New: "return a.Status",
	},
	{
		Name: "authorise: a wide yes covers what a tainted agent does", File: "authorise.go",
		Old: "wide := !f.Barred && (a.Scope", New: "wide := (a.Scope",
	},
	{
		Name: "authorise: a pattern that is no longer the same", File: "authorise.go",
		Old: "a.Pattern != \"\" && a.Pattern == f.Pattern", New: "a.Pattern != \"\"",
	},
	{
		Name: "authorise: what it would do has changed", File: "authorise.go",
		Old: "case run.Bound != \"\" && run.Bound != f.Bound:", New: "case false:",
	},
	{
		Name: "authorise: other arguments than the person gave", File: "authorise.go",
		Old: "a.Args == f.Args && a.Edited.Bound", New: "a.Edited.Bound",
	},
	{
		Name: "authorise: an approval is used twice", File: "authorise.go",
		Old: "!a.closed(f.Task), f.over():", New: "!a.closed(f.Task):",
	},
	{
		Name: "authorise: a call that has not happened passes as one that began", File: "authorise.go",
		Old: "if f.Began && !f.Probed && !f.over() {", New: "if f.Began && !f.over() {",
	},
	{
		Name: "authorise: another tool under the same name", File: "authorise.go",
		Old: "if f.Tool != f.Run.Tool || f.Class", New: "if f.Class",
	},
}
