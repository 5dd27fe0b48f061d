/**
 * Every case of the suites we measure ourselves by, by its original name: here, or left out with the reason. A test compares this
 * list with the files of this folder in both directions; `docs/design/conformance.md` is made from it.
 *
 * Erlang's names are those of `supervisor_SUITE` and `gen_statem_SUITE`. Elixir's tests have sentences for names, which are put into
 * one word here; Pekko's are kept as they are. Named by us: the three `undef_` ones (its undefined-callback group by what it means
 * here), "restart despite work that ignores its end" and "... when an actor dies while it starts".
 */
export interface Group {
  id: string;
  about: string;
  /** The file of this folder that holds its cases. */
  file: string;
  /** Where they come from. */
  from: string;
  here: readonly string[];
  leftOut: Readonly<Record<string, string>>;
}

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");
const each = (names: string, reason: string): Record<string, string> => Object.fromEntries(words(names).map((name) => [name, reason]));

const erlang = "Erlang `supervisor_SUITE`";

export const groups: readonly Group[] = [
  {
    id: "A",
    about: "starting",
    file: "a-starting.test.ts",
    from: erlang,
    here: words(`sup_start_normal sup_start_ignore_init sup_start_ignore_child sup_start_ignore_temporary_child
      sup_start_ignore_temporary_child_start_child sup_start_ignore_temporary_child_start_child_simple
      sup_start_ignore_permanent_child_start_child_simple sup_start_error_return sup_start_fail sup_start_child_returns_error
      sup_start_restart_child_returns_error sup_start_child_returns_error_simple`),
    leftOut: {},
  },
  {
    id: "B",
    about: "specs",
    file: "b-specs.test.ts",
    from: erlang,
    here: words("sup_start_map sup_start_map_simple sup_start_map_faulty_specs"),
    leftOut: {},
  },
  {
    id: "C",
    about: "stopping",
    file: "c-stopping.test.ts",
    from: erlang,
    here: words(`sup_stop_infinity sup_stop_timeout sup_stop_timeout_dynamic sup_stop_brutal_kill sup_stop_brutal_kill_dynamic sup_stop_race
      sup_stop_non_shutdown_exit_dynamic`),
    leftOut: {},
  },
  {
    id: "D",
    about: "administration",
    file: "d-administration.test.ts",
    from: erlang,
    here: words(`child_adm child_adm_simple child_specs child_specs_map sup_flags multiple_restarts count_children count_children_supervisor
      count_restarting_children which_children which_children_simple_one_for_one already_started_outside_supervisor`),
    leftOut: {
      extra_return: "a spawn returns nothing but the child: what it has to say it sends",
      get_callback_module: "a supervisor has no callback module; the chart's name is in `which_children`",
    },
  },
  {
    id: "E",
    about: "normal end",
    file: "e-normal-end.test.ts",
    from: erlang,
    here: words("permanent_normal transient_normal temporary_normal"),
    leftOut: { external_start_no_progress_log: "there is no progress log; every start is a row" },
  },
  {
    id: "F",
    about: "shutdown end",
    file: "f-shutdown-end.test.ts",
    from: erlang,
    here: words("permanent_shutdown transient_shutdown temporary_shutdown faulty_application_shutdown"),
    leftOut: {},
  },
  {
    id: "G",
    about: "abnormal end",
    file: "g-abnormal-end.test.ts",
    from: erlang,
    here: words("permanent_abnormal transient_abnormal temporary_abnormal"),
    leftOut: {},
  },
  {
    id: "H",
    about: "strategies",
    file: "h-strategies.test.ts",
    from: erlang,
    here: words(`one_for_one one_for_one_escalation one_for_all one_for_all_escalation one_for_all_other_child_fails_restart rest_for_one
      rest_for_one_escalation rest_for_one_other_child_fails_restart simple_one_for_one simple_one_for_one_shutdown
      simple_one_for_one_escalation simple_one_for_one_corruption simple_one_for_one_restart_ignore`),
    leftOut: { simple_one_for_one_extra: "a start has no extra information to hand on (`extra_return`)" },
  },
  {
    id: "I",
    about: "significant children",
    file: "i-significant.test.ts",
    from: erlang,
    here: words(`nonsignificant_temporary nonsignificant_transient significant_temporary significant_transient significant_simple
      significant_bystander significant_escalation significant_upgrade_never_any significant_upgrade_any_never
      significant_upgrade_never_all significant_upgrade_all_never significant_upgrade_any_all significant_upgrade_all_any
      significant_upgrade_child`),
    leftOut: {},
  },
  {
    id: "J",
    about: "robustness",
    file: "j-robustness.test.ts",
    from: erlang,
    here: words(`child_unlink tree temporary_bystander simple_global_supervisor do_not_save_start_parameters_for_temporary_children
      do_not_save_child_specs_for_temporary_children simple_one_for_one_scale_many_temporary_children hanging_restart_loop
      hanging_restart_loop_rest_for_one hanging_restart_loop_simple order_of_children scale_start_stop_many_children format_log_1
      format_log_2`),
    leftOut: {},
  },
  {
    id: "K",
    about: "live change",
    file: "k-live-change.test.ts",
    from: erlang,
    here: words("code_change code_change_map code_change_simple code_change_simple_map"),
    leftOut: {},
  },
  {
    id: "gen_statem",
    about: "charts",
    file: "l-gen-statem.test.ts",
    from: "Erlang `gen_statem_SUITE`",
    here: words(`start4 start5 start8 start11 loop_start_fail stop1 stop4 abnormal2 shutdown stop_and_reply state_enter event_order
      state_timeout timeout_cancel_and_update generic_timers event_types undef_event undef_in_event undef_init get_state
      terminate_crash_format reply_by_alias_with_payload send_request_receive_reqid_collection`),
    leftOut: {
      ...each("start1 start2 start6", "every actor has an address: none is anonymous or linked (start8)"),
      start3: "a first step is synchronous: it cannot take longer than it computes",
      ...each("start7 start9 start10 start12", "there is one kind of name, the address (start8)"),
      stop2: "the reason of a stop is one of six words (stop1 holds one that is not the default)",
      stop3: "a stop has the limit of its spec, the caller gives none",
      ...each("stop5 stop6 stop7", "there is one kind of name, the address (stop4)"),
      ...each("stop8 stop9 stop10", "one machine: there are no other nodes"),
      abnormal1: "a question has no time limit in the kernel; the door that waits has one",
      next_events: "the same as event_order: a raised event goes first",
      code_change: "in group K: migration by chart version",
      sys1: "no suspend and resume of a process from outside; parking is in the Pekko group",
      replace_state: "state is what rows say: nobody replaces it from outside",
      ...each("hibernate auto_hibernate", "an idle actor has no process to put to sleep"),
      enter_loop: "nothing that was no actor becomes one",
      error_format_status: "the same as terminate_crash_format: `lastWords` of the chart",
      ...each("undef_code_change undef_terminate undef_in_terminate", "charts have no callback for it: nothing runs at an end"),
      ...each(
        "send_request_wait_reqid_collection send_request_check_reqid_collection",
        "waiting and checking are the caller's promises (send_request_receive_reqid_collection)",
      ),
    },
  },
  {
    id: "Elixir",
    about: "dynamic supervisors, tasks, registry",
    file: "m-elixir.test.ts",
    from: "Elixir `DynamicSupervisor`, `Task.Supervisor`, `Registry`",
    here: words(`max_children max_children_restarting restart_fails_intensity terminate_mix terminate_restarting async_nolink
      await_demonitor async_shutdown registry_unregisters_on_crash`),
    leftOut: {
      async_raises_at_cap: "the same as max_children: a spawn over the cap answers `down`",
      async_stream: "no streams of children in the kernel; a chart that wants one counts its own",
      registry_key_lock: "an address is taken in a step, so there is nothing to lock",
      partition_supervisor_resize: "children are not spread over partitions: one map holds them (scale_start_stop_many_children)",
    },
  },
  {
    id: "Pekko",
    about: "supervision and death watch",
    file: "n-pekko.test.ts",
    from: "Pekko `SupervisionSpec`, `DeathWatchSpec`, `SupervisorHierarchySpec`",
    here: [
      "stop after restart retries limit",
      "reset retry limit after withinTimeRange",
      "stop children when restarting",
      "optionally NOT stop children when restarting",
      "stop children when restarting second time during unstash",
      "restart despite work that ignores its end",
      "restart after exponential backoff",
      "reset exponential backoff count after reset timeout",
      "publish dropped messages while backing off and stash is full",
      "fail instead of restart when deferred factory throws",
      "ensure unhandled message retention during unstash exception when restart",
      "notify with one Terminated message when an actor is already dead",
      "notify with one Terminated message when an actor dies while it starts",
      "be able to watch a child with the same name after the old died",
      "discard Terminated when unwatched between sysmsg and processing",
      "suspend children while failing",
      "survive being stressed",
    ],
    leftOut: {
      "be able to recover from a DeathPactException": "a `down` nobody takes is counted, and fails our tests; it ends nobody",
      "CoordinatedShutdownSpec, 31 cases": "no phases: the order of a shutdown is the tree; draining has its own tests in `test/hostile`",
      StashBufferSpec: "no stash: mail waits in the row, a chart keeps what it cannot take in its parts",
      "ReliableDeliveryRandomSpec, AtLeastOnceDeliverySpec, CrashSpec":
        "no delivery over a network: a message is in the sender's commit (K3)",
      "EventSourcedBehavior*Spec": "rows, not replayed events: `test/suites/runtime/replaced.test.ts` holds what they are after",
      "restart per exception type, nested supervision": "a crash is a crash: what a chart expects is an event",
    },
  },
];
