/**
 * The runner: a small shell script around the command. It keeps the exit code and the output on disk without us, so that a
 * command that ends while the server is dead is not lost, and bounds what a flood can write.
 *
 * - The command alone carries `SOMORA_EFFECT`; the runner and its drains carry `SOMORA_RUNNER`, so a survivor is told from them.
 * - File descriptor 3 tells us the exit code the moment the shell ends, whatever still holds the output open.
 * - The drains ignore TERM: what a command says while it ends is kept. They end when nobody holds the stream any more.
 */
import { STORE_BYTES, TAIL_BYTES } from "./bounded-output.ts";

/** Arguments: folder, shell, command, effect key. Standard streams and file descriptor 3 are set by the spawn. */
export const RUNNER_SCRIPT = `
folder=$1 shell=$2 command=$3 effect=$4
trap : HUP INT TERM
drain() {
  trap '' HUP INT TERM
  head -c ${STORE_BYTES} >>"$folder/$1"
  if [ "$(($(wc -c <"$folder/$1")))" -ge ${STORE_BYTES} ]; then
    { { tee /dev/fd/5 | wc -c >"$folder/$1.rest"; } 5>&1 | tail -c ${TAIL_BYTES} >"$folder/$1.tail"; }
  fi
}
{ { {
  trap : HUP INT TERM
  ( trap - HUP INT TERM; unset SOMORA_RUNNER; SOMORA_EFFECT=$effect; export SOMORA_EFFECT; exec "$shell" -c "$command" 3>&- 4>&- )
  code=$?
  echo "$code" >"$folder/exit"
  echo "$code" >&3
} 2>&1 >&4 4>&- | drain stderr 3>&- 4>&-; } 4>&1 | drain stdout 3>&- 4>&-; }
`;
