/**
 * The runner: a small shell script around the command. It keeps the exit code and the output on disk without us, so that a
 * command that ends while the server is dead is not lost, and bounds what a flood can write.
 *
 * - The command alone carries `SOMORA_EFFECT`; the runner and its drains carry `SOMORA_RUNNER`, so a survivor is told from them.
 * - File descriptor 3 tells us the exit code the moment the shell ends, whatever still holds the output open.
 * - The drains ignore TERM: what a command says while it ends is kept. They end when nobody holds the stream any more.
 * - A drain writes as it reads, so the files grow while the command runs. Past the disk cap it only counts, keeps the end, and
 *   reads unhurriedly: a flood waits for it instead of starving the machine.
 */
import { STORE_BYTES, TAIL_BYTES } from "./bounded-output.ts";

/** `ulimit -f` counts in these in every shell that is called `sh`. */
const BLOCK = 512;

/** Arguments: the stream's file. 1031 is Linux's F_SETPIPE_SZ; where it is unknown the pipe stays as it is. */
const PERL_DRAIN = `
my ($file) = @ARGV; my ($cap, $keep) = (${STORE_BYTES}, ${TAIL_BYTES});
my ($total, $stored, $tail) = (0, 0, "");
open(my $out, ">>:raw", $file) or $cap = 0;
fcntl(STDIN, 1031, 1048576);
for (;;) {
  my $read = sysread(STDIN, my $bytes, 1048576);
  if (!defined $read) { next if $! + 0 == 4; last; }
  last if $read == 0;
  $total += $read;
  if ($stored < $cap) {
    my $want = $cap - $stored < $read ? $cap - $stored : $read;
    my $done = 0;
    while ($done < $want) { my $wrote = syswrite($out, $bytes, $want - $done, $done); last unless $wrote; $done += $wrote; }
    $stored += $done;
    $cap = $stored if $done < $want;
  }
  $tail .= $bytes;
  $tail = substr($tail, -$keep) if length($tail) > 4 * $keep;
  select(undef, undef, undef, 0.01) if $total > $cap;
}
sub put { my ($path, $text) = @_; if (open(my $to, ">:raw", $path)) { print $to $text; close $to; } }
put("$file.tail", length($tail) > $keep ? substr($tail, -$keep) : $tail) if $total > $stored;
put("$file.total", "$total\\n");
`;

/**
 * Without perl `tee` drains: a file size limit on `tee` alone is the disk cap, `wc` counts, `tail` keeps the end.
 * Arguments: folder, shell, command, effect key, the perl drain or nothing. Standard streams and descriptor 3 come with the spawn.
 */
const RUNNER_SCRIPT = `
folder=$1 shell=$2 command=$3 effect=$4 program=$5
trap : HUP INT TERM
drain() {
  trap '' HUP INT TERM XFSZ
  unset PERL5OPT PERL5LIB PERLIO PERL_UNICODE
  if [ -n "$program" ] && command -v perl >/dev/null 2>&1; then exec perl -e "$program" "$folder/$1"; fi
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

export interface RunnerCommand {
  folder: string;
  shell: string;
  command: string;
  effectKey: string;
  /** False: drain as on a computer without perl. */
  perl: boolean;
}

/** Arguments for `/bin/sh`. */
export function runnerArguments({ folder, shell, command, effectKey, perl }: RunnerCommand): string[] {
  return ["-c", RUNNER_SCRIPT, "somora-runner", folder, shell, command, effectKey, perl ? PERL_DRAIN : ""];
}
