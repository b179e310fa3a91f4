package agent

// The core's own texts for a model. The host puts them into the transcript as they stand.
const (
	textGrace = "You have reached your limit. Call submit_result now with what you have, alone, or submit_error. " +
		"No other call is carried out and there is no further turn."
	textNudge = "Your reply had no call. If the task is done, call submit_result with a result that stands on its own. " +
		"Otherwise go on."
	textNudgeOrAsk = "Your reply had no call. If the task is done, call submit_result with a result that stands on its own. " +
		"If you need input, call ask_user. Otherwise go on."
	textCutOff = "Your reply was cut off at the output limit. Go on from where it ended, in smaller parts."
	textAlone  = "Not carried out: a submit or ask call must be the only call of a reply. Make it again, alone."

	textAccepted       = "Accepted."
	textSkipped        = "Not carried out: the run ends with the submit call of the same reply."
	textSkippedForAsk  = "Not carried out: the reply also asks a question. Make this call again after the answer."
	textGraceOnly      = "Not carried out: only submit_result and submit_error were offered."
	textRefused        = "Not carried out: the reply was refused by the provider's content filter."
	textLooping        = "Not carried out: the same call was made too often without any change in between."
	textTooManyCalls   = "Not carried out: a reply may hold at most %d calls."
	textUnknownTool    = "There is no tool %q. Use the tools you were offered."
	textNotOffered     = "The tool %q is not yours to use. Use the tools you were offered."
	textMalformed      = "The arguments cannot be used: %s. Correct them and call again."
	textReadOnly       = "The tool %q changes things and this agent may only read."
	textNoNetwork      = "The tool %q uses the network and this agent may not."
	textRepeating      = "You have made the same call to %s %d times. Its result will not change: try something else."
	textPolicyDenied   = "Denied by policy. Do not try again; find another way or report that it is not allowed."
	textEdited         = "The user changed the arguments of this call before allowing it. It was allowed with these instead of yours: %s"
	textDenied         = "Denied by the user. Do not try it again as it is."
	textHeadlessDenied = "Denied: nobody is there to approve. Use a tool that needs no approval, or submit_error."
	textChanged        = "Not carried out: what would run is not what was approved any more, a file, a program or a rule has changed. " +
		"Look again, and call again if it is still right: it will be asked about anew."
	textUnapproved      = "Not carried out: no approval of this call is on record. Call again if it is still right: it will be asked about."
	textApprovalExpired = "Not carried out: nobody decided in time. This is not a refusal by the user."

	textCancelled       = "Cancelled."
	textCancelledBefore = "Cancelled before it began."
	textMayHaveHappened = "Cancelled; it may have taken effect. Check before you repeat it."
	textTimedOut        = "Timed out."
	textTimedOutWrite   = "Timed out; it may have taken effect. Check before you repeat it."
	textIndeterminate   = "The worker was lost and nobody knows whether this ran. It is not run again: check before you repeat it."

	textNoDelegation    = "This agent may not delegate. Do the work yourself."
	textTooDeep         = "No agent may be started below depth %d. Do the work yourself."
	textCannotAsk       = "This agent may not ask. Use your judgement, or submit_error."
	textAskExpired      = "Nobody answered in time. Use your judgement, or submit_error."
	textDeclined        = "The user declined to answer. Use your judgement, or submit_error."
	textNobodyThere     = "Nobody is there to answer. Use your judgement, or submit_error."
	textNoQuestion      = "No agent waits for an answer to question %q."
	textForwarded       = "The answer was sent."
	textRelayed         = "You are not sure enough. The question was put to the user."
	textAlreadyRelayed  = "You are not sure enough, and the user has already been asked. Wait for their answer."
	textSubmitMalformed = "The result cannot be used: %s. Submit it once more, corrected."
	textSubmitUnusable  = "The result cannot be used: %s."
	textNoEvidence      = "Not accepted: this role must show what its result rests on, and no call of this run has read or " +
		"changed a file, run a command or fetched a page. Do the work with your tools and submit again, or call submit_error."
	textStillNoEvidence = "Not accepted: no call of this run is evidence for it."
	textContradicted    = "Not accepted: what you claim is contradicted by the record of what was done. " +
		"Do what you claim or correct the claim, then submit again."
	textQuestionLimit = "Not asked: this task has asked enough."
)
