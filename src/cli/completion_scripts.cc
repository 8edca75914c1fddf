#include "cli/completion_scripts.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tiphys::cli {
namespace {

// bash divides words at "=" and ":" too; what stands together in the line is put together again, and what of it bash
// does not take for a part of the word is cut from the answers.
constexpr std::string_view kBash = R"(# Completion of ank for bash.
_ank() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word own= i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        own=${COMP_WORDS[i]}
        word=${line%%[^[:blank:]]*}
        line=${line:${#word}}
        if ((i == COMP_CWORD)); then own=${own:0:${#line}}; fi
        line=${line:${#own}}
        if ((i == 0)) || [[ -n $word ]]; then
            words+=("$own")
        else
            words[${#words[@]} - 1]+=$own
        fi
    done
    [[ $own == [=:] ]] && own=

    local last=$((${#words[@]} - 1)) quote=
    word=${words[last]}
    local before=${word:0:${#word}-${#own}}
    if [[ $word == [\"\']* ]]; then
        quote=${word:0:1} word=${word:1}
    else
        word=${word//\\/}
    fi
    words[last]=$word

    local program
    program=$(type -P -- "$1") || program=ank
    local IFS=$'\v' answers
    answers=$(COMPLETE=bash _CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$last "$program" -- "${words[@]}" 2>/dev/null) || return
    local found=() answer
    set -f
    found=($answers)
    set +f
    COMPREPLY=()
    for answer in "${found[@]}"; do
        answer=${answer#"$before"}
        if [[ -z $quote ]]; then
            if [[ $answer == '~/'* ]]; then
                printf -v answer '~/%q' "${answer:2}"
            else
                printf -v answer %q "$answer"
            fi
        fi
        COMPREPLY+=("$answer")
    done
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o nosort -F _ank ank
)";

// Sourced, it registers the function; found by compinit as a file of its own, it is the function.
constexpr std::string_view kZsh = R"zsh(#compdef ank
# Completion of ank for zsh.
_ank() {
    local program
    program=$(whence -p -- ${(Q)words[1]}) || program=ank
    local -a line answers plain open
    line=("${(@Q)words[1,CURRENT - 1]}" "${(Q)PREFIX}")
    answers=(${(f)"$(COMPLETE=zsh _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) $program -- "${line[@]}" 2>/dev/null)"})
    compset -P '\~/' && answers=(${answers#'~/'})
    plain=(${answers:#*/})
    open=(${(M)answers:#*/})
    _describe -V ank plain -- open -S ''
}
if [[ ${funcstack[1]} == _ank ]]; then
    _ank "$@"
else
    compdef _ank ank
fi
)zsh";

constexpr std::string_view kFish = R"(# Completion of ank for fish.
function __ank_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l program (command --search -- $words[1])
    or set program ank
    COMPLETE=fish $program -- $words (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command ank --no-files --keep-order --arguments '(__ank_complete)'
)";

constexpr std::string_view kElvish = R"(# Completion of ank for elvish.
set edit:completion:arg-completer[ank] = {|@words|
    tmp E:COMPLETE = elvish
    tmp E:_CLAP_IFS = "\n"
    tmp E:_CLAP_COMPLETE_INDEX = (to-string (- (count $words) 1))
    e:ank -- $@words | from-lines
}
)";

constexpr std::string_view kPowershell = R"(# Completion of ank for PowerShell.
Register-ArgumentCompleter -Native -CommandName ank -ScriptBlock {
    param($word, $command, $cursor)
    $words = @($command.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursor } | ForEach-Object { $_.Extent.Text })
    if ($word -eq '') { $words += '' }
    $env:COMPLETE = 'powershell'
    try {
        ank '--' @words 2>$null | ForEach-Object {
            $text, $help = $_ -split "`t", 2
            if (-not $help) { $help = $text }
            [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $help)
        }
    } finally {
        Remove-Item Env:COMPLETE
    }
}
)";

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kScripts{
    {{"bash", kBash},
     {"elvish", kElvish},
     {"fish", kFish},
     {"powershell", kPowershell},
     {"zsh", kZsh}}};

}  // namespace

std::optional<std::string_view> completion_script(std::string_view shell) {
  const auto* found = std::find_if(kScripts.begin(), kScripts.end(),
                                   [&](const auto& script) { return script.first == shell; });
  if (found == kScripts.end()) return std::nullopt;
  return found->second;
}

}  // namespace tiphys::cli
