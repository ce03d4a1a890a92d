# Completion of ptexplore in bash. Put into ~/.bashrc:   source <(ptexplore completion bash)
#
# Everything is asked of ptexplore itself, which gives each candidate quoted for the shell already; nothing that comes
# back is evaluated here.

_ptexplore() {
    local line status output command="${1/#\~\//$HOME/}"
    COMPREPLY=()
    # What was typed up to the cursor, whole: bash itself would part names at every colon.
    output="$("$command" __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)"
    status=$?
    if [[ $status -eq 10 ]]; then
        compopt -o default 2>/dev/null
        return
    fi
    while IFS= read -r line; do
        [[ -n $line ]] && COMPREPLY+=("$line")
    done <<<"$output"
}

complete -o nosort -F _ptexplore ptexplore 2>/dev/null || complete -F _ptexplore ptexplore
