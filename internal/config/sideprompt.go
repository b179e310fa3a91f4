package config

// OpenQuestion is a question that waits for an answer, as a routing model is shown it.
type OpenQuestion struct {
	ID   string
	Role string
	Text string
}

// Asking is a question of a sub-agent, and the task in which it came up.
type Asking struct {
	Question OpenQuestion
	Task     string
	Options  []string
}

// ResolvePrompt asks an orchestrator whether the conversation holds the answer to a question: the
// side turn of kind agent.SideResolve.
func (r *Registry) ResolvePrompt(a Asking) (string, error) {
	return r.prompts.render("resolve.md", resolveData{
		Role: a.Question.Role, Task: a.Task, QuestionID: a.Question.ID, Question: a.Question.Text, Options: a.Options,
	})
}

// RoutePrompt asks what a person's message is about while questions are open: the side turn of kind
// agent.SideRoute. The routes are those of agent.Route.
func (r *Registry) RoutePrompt(message string, open []OpenQuestion) (string, error) {
	return r.prompts.render("route.md", routeData{Questions: open, Message: message})
}

// CompactPrompt asks an agent to sum up its transcript: a turn of kind agent.TurnCompact. Pins are
// the tasks that are open and must not be forgotten.
func (r *Registry) CompactPrompt(pins []string) (string, error) {
	return r.prompts.render("compact.md", compactData{pins})
}

// TitlePrompt asks for the title of a conversation that begins with a message.
func (r *Registry) TitlePrompt(message string) (string, error) {
	return r.prompts.render("title.md", titleData{message})
}
