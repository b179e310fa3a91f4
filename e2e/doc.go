// Package e2e plays scenarios on the whole program: journal, engine, workers and a scripted model
// that speaks a provider's wire. It has tests only, behind the build tag services.
//
// A scenario is a txtar file in testdata. Its comment says what the scenario shows; its files are
//
//	settings.yaml   settings of the person, optional
//	work/...        the workspace, roles in work/.retinue/agents included
//	model.yaml      what the model says, strictly checked (docs/scripted.md); no default, so that a
//	                request nobody thought of is refused and fails the scenario
//	play            what people do, and what happens to the workers; one line each
//	want/journal    everything recorded, by agent, without times, sizes and prices
//	want/results    the results of calls as the models of delegating agents received them, byte for byte
//	                but for times and tokens
//
// The last two are rewritten by -update.
//
// # What people do
//
//	open [headless] [cost=N] [time=D]     begin the conversation; implied when left out
//	say ID: TEXT                          post a message under an id
//	reply ID to QUESTION: TEXT            the same, as the answer to a question
//	decline ID to QUESTION: TEXT          the same, declining to answer
//	allow AGENT CALL [SCOPE]              decide an approval
//	edit AGENT CALL: ARGUMENTS            allow the call with these, for once
//	deny AGENT CALL: REASON
//	cancel ID                             stop everything
//	cancel ID task TASK                   stop one task
//	close                                 end the conversation for good
//	change PATH: LINE                     write a file of the workspace
//	both: COMMAND / COMMAND               two of the above at the same time
//
// A question is named by its agent and call, main/1.0.0#2.0.
//
// # What is waited for
//
//	wait turn N                  the orchestrator's N-th turn has ended
//	wait rule NAME [N]           the model has begun to answer by this rule, N times
//	wait row KEY                 a row is recorded
//	wait step AGENT EVENT [N]    an agent has taken in an event of this name, N times
//	wait move AGENT STATUS [N]   an agent has come to a status, N times; waiting(REASON) if it waits
//	wait beat AGENT              the engine has just taken a sign of life of an agent's leg
//	wait file NAME               a file is in the workspace
//	wait no rows D               nothing is recorded for so long
//	release RULE                 the model answers by a rule, which is held until then; all that people
//	                             did before has reached the engine
//
// A scenario waits for what must happen while the model thinks before it releases the rule: however
// long a delay is, nothing else is sure to happen within it.
//
// # What happens to processes
//
//	kill worker             the process dies
//	drain worker            it is told to stop and hands over
//	start worker            another one begins
//	pause engine D          the engine stands still for so long; such a scenario has an engine of its
//	                        own, on SQLite
//
// Every scenario is played on SQLite with an engine on SQLite, and on Postgres and NATS with an
// engine on Postgres, each with an activity for every effect and with legs of any length. All four
// must leave the same records.
//
// # What is served
//
// The public client reads over HTTP as well what a scenario has left: every answer and every event
// must be as the document promises that the server serves. The suites below check their answers
// against it in the same way; e2e/bench, which measures, does not.
//
// # What has a test of its own
//
// TestCodec plays one of the scenarios through a codec and reads what the engine keeps.
// TestVersions deploys a build of the workers beside another. TestDrain ends a worker that has more
// under way than it can wait for. TestWeb has pages to read, TestImage a picture to look at.
// TestHosted plays the shipped programs, as docs/operating.md lays them out. TestSecrets and
// TestSecretsAlone look for planted values in everything that these leave.
package e2e
