// Stacks of a hung rank. The agent of `megalith launch` sends SIGQUIT to each thread of the rank. Each thread sends its
// return addresses to the agent, as text: "stack THREAD ADDRESS ADDRESS ...", in hexadecimal. The agent finds the
// names.
#pragma once

namespace megalith {

// `fd`: the socket to the agent.
void answer_stack_signal(int fd);

}  // namespace megalith
