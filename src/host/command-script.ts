/**
 * The runner: a small shell script around the command. It keeps the exit code and the output on disk without us, so that a
 * command that ends while the server is dead is not lost, and bounds what a flood can write.
 *
 * - The command alone carries `SOMORA_EFFECT`; the runner and its drains carry `SOMORA_RUNNER`, so a survivor is told from them.
 * - File descriptor 3 tells us the exit code the moment the shell ends, whatever still holds the output open.
 * - The drains ignore TERM: what a command says while it ends is kept. They end when nobody holds the stream any more.
 * - `tee` writes as it reads, so the files grow while the command runs. A file size limit on `tee` alone is the disk cap: past
 *   it the file stays as it is, the stream goes on to `wc` (the count) and `tail` (the end).
 */
import { STORE_BYTES, TAIL_BYTES } from "./bounded-output.ts";

/** `ulimit -f` counts in these in every shell that is called `sh`. */
const BLOCK = 512;

/** Arguments: folder, shell, command, effect key. Standard streams and file descriptor 3 are set by the spawn. */
export const RUNNER_SCRIPT = `
folder=$1 shell=$2 command=$3 effect=$4
trap : HUP INT TERM
drain() {
  trap '' HUP INT TERM XFSZ
  { (ulimit -f ${STORE_BYTES / BLOCK}; exec tee -a "$folder/$1" /dev/fd/5 2>/dev/null) | wc -c >"$folder/$1.total"; } 5>&1 | tail -c ${TAIL_BYTES} >"$folder/$1.tail"
}
{ { {
  trap : HUP INT TERM
  ( trap - HUP INT TERM; unset SOMORA_RUNNER; SOMORA_EFFECT=$effect; export SOMORA_EFFECT; exec "$shell" -c "$command" 3>&- 4>&- )
  code=$?
  echo "$code" >"$folder/exit"
  echo "$code" >&3
} 2>&1 >&4 4>&- | drain stderr 3>&- 4>&-; } 4>&1 | drain stdout 3>&- 4>&-; }
`;
